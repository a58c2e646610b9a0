"""The kernels of two builds must be the same: the virtual GPU's library against the one nvcc made.

In `sim` every __global__ function lies in a section of its own name (SIM_SECTION); nvcc leaves a host stub called
`__device_stub_<mangled name>` for every kernel. Both lists are read from the symbol tables, so nothing has to run.

    kernel_list.py SIM_LIBRARY.so CUDA_LIBRARY.a      exit 0: equal, 1: the difference is listed, 77: a library is not built
"""

import re
import subprocess
import sys
from pathlib import Path

SIM_SECTION = "lockstep_kernels"


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def kernels_of_sim(library: str) -> set[str]:
    """Mangled names of the functions in SIM_SECTION of a shared library or an object."""
    sections = re.findall(r"\[\s*(\d+)\]\s+(\S+)\s+PROGBITS", run("readelf", "-SW", library))
    wanted = {index for index, name in sections if name == SIM_SECTION}
    found = set()
    for line in run("readelf", "-sW", library).splitlines():
        fields = line.split()  # number, value, size, type, binding, visibility, section, name
        if len(fields) >= 8 and fields[3] == "FUNC" and fields[6] in wanted and not re.search(r"\.(cold|part|constprop|isra)\b", fields[7]):
            found.add(fields[7].split("@")[0])
    return found


def kernels_of_cuda(library: str) -> set[str]:
    """Mangled names of the kernels in a static library or an object that nvcc made."""
    found = set()
    for line in run("nm", library).splitlines():
        # <length>__device_stub__Z...: the length says where the stub's name ends and its own parameters begin.
        match = re.search(r"(\d+)__device_stub_(_Z\w+)", line)
        if match:
            found.add(match.group(2)[: int(match.group(1)) - len("__device_stub_")])
    return found


def demangled(names: set[str]) -> set[str]:
    if not names:
        return set()
    lines = subprocess.run(["c++filt"], input="\n".join(sorted(names)), check=True, capture_output=True, text=True).stdout
    return set(lines.splitlines())


def main(sim_library: str, cuda_library: str) -> int:
    for library in (sim_library, cuda_library):
        if not Path(library).exists():
            print(f"skipped: {library} is not built")
            return 77
    sim, cuda = demangled(kernels_of_sim(sim_library)), demangled(kernels_of_cuda(cuda_library))
    for name in sorted(sim - cuda):
        print(f"only in sim:  {name}")
    for name in sorted(cuda - sim):
        print(f"only in cuda: {name}")
    if not sim or not cuda:
        print(f"no kernels found: {len(sim)} in sim, {len(cuda)} in cuda")
        return 1
    print(f"{len(sim)} kernels in sim, {len(cuda)} in cuda, {len(sim & cuda)} the same")
    return 0 if sim == cuda else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
