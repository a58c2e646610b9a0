"""The same mistakes through real Cling (the Python package cppyy), to compare interpreters.

    mistakes_cling.py BUILD COUNT

A process goes through mistakes until one does not pass; then another one begins with the next.
"""
import itertools
import pathlib
import subprocess
import sys

from cling_test import pieces
from mistakes import BEFORE, MISTAKES


def run_from(build, first, count):
    import cppyy

    def run(cell):
        """Whether a cell ran: what defines goes to Cling as such, what runs is executed, neighbours of a kind together, as xeus-cling does."""
        try:
            for runs, group in itertools.groupby(pieces(build, cell), key=lambda piece: piece["runs"]):
                text = "\n".join(piece["text"] + (";" if piece["open"] else "") for piece in group)
                if not (cppyy.cppexec(text) if runs else cppyy.cppdef(text)):
                    return False
        except Exception:  # of C++ or of Cling
            return False
        return True

    for cell in BEFORE:
        assert run(cell)
    for number in range(first, count):
        _, wrong, right, probe, value = MISTAKES[number]
        failed = not run(wrong)
        shown = f"std::string shown_{number};\n{{ std::ostringstream out; out << std::boolalpha << ({probe}); shown_{number} = out.str(); }}"
        passed = failed and run(right) and run("#include <sstream>\n" + shown)
        if passed:
            passed = str(getattr(cppyy.gbl, f"shown_{number}")) == value.strip("\"'") and cppyy.gbl.side == 1
        print(number, "passed" if passed else "did not pass", flush=True)
        if not passed:
            return


def main():
    build, count = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    if len(sys.argv) == 4:
        return run_from(build, int(sys.argv[3]), count)
    first, passed = 0, 0
    while first < count:
        try:
            ran = subprocess.run([sys.executable, __file__, str(build), str(count), str(first)], capture_output=True, text=True, timeout=120, check=False)
            lines = ran.stdout.splitlines()
        except subprocess.TimeoutExpired as expired:
            lines = (expired.stdout or b"").decode().splitlines()
        good = sum(line.endswith(" passed") for line in lines)
        passed += good
        if first + good < count:
            print("did not pass:", MISTAKES[first + good][0], flush=True)
        first += good + 1
    print(f"{passed} of {count} mistakes changed nothing and could be corrected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
