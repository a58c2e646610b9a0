"""No kernel of the cuda build spills registers: reads what `ptxas -v` said while it was compiled (cmake/keep_ptxas_words.sh keeps it).

    kernel_registers.py FOLDER      exit 0: none does, 1: those that do are listed, 77: nothing was compiled there
"""

import re
import subprocess
import sys
from pathlib import Path


def kernels(text: str):
    """(name, architecture, registers, bytes of stack, of spill stores, of spill loads) of each kernel."""
    name = architecture = frame = None
    for line in text.splitlines():
        if match := re.search(r"Compiling entry function '(\S+)' for '(\w+)'", line):
            name, architecture = match.groups()
            frame = None
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            frame = frame or tuple(int(number) for number in match.groups())
        elif (match := re.search(r"Used (\d+) registers", line)) and name and frame:
            yield (name, architecture, int(match.group(1)), *frame)
            name = None


def readable(name: str) -> str:
    return subprocess.run(["c++filt", "-p", name], capture_output=True, text=True, check=True).stdout.strip()


def main(folder: str) -> int:
    found = []
    for file in sorted(Path(folder).rglob("*.ptxas")):
        found += kernels(file.read_text())
    if not found:
        print(f"No kernel was compiled in {folder}: build the preset cuda first.")
        return 77
    spilling = [kernel for kernel in found if kernel[4] or kernel[5]]
    for name, architecture, registers, stack, stores, loads in spilling:
        print(f"{readable(name)} on {architecture}: {registers} registers, {stores} bytes of spill stores, {loads} of loads")
    most = max(found, key=lambda kernel: kernel[2])
    print(f"{len(found)} kernels (by architecture), {len(spilling)} of them spill; most registers: {most[2]} ({readable(most[0])}, {most[1]})")
    return 1 if spilling else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
