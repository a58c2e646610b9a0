"""Cells of mistakes, each followed by its correction and a probe of the state, in one session of the kernel.

    mistakes_test.py [COUNT]      the first COUNT only, and a crash or a wrong answer is counted and not the end: to compare interpreters
"""
import os
import sys

from kernel_session import Session
from mistakes import BEFORE, MISTAKES

MOST_GIB = 2


def prepare(session):
    for cell in BEFORE:
        result = session.run(cell)
        assert result.status == "ok", result.error


def fault_of(session, wrong, right, probe, value):
    """What is wrong; empty where nothing is."""
    failed = session.run(wrong)
    if failed.status != "error":
        return "it ran"
    if failed.error["ename"] == "KernelRestarted":
        return "the process ended: " + failed.error["evalue"]
    if not failed.error["evalue"].strip():
        return "nothing was said about it"
    corrected = session.run(right)
    if corrected.status != "ok":
        return "the corrected cell failed: " + corrected.error["evalue"]
    shown = session.run(probe)
    if shown.status != "ok" or shown.text != value:
        return f"{probe} shows {shown.text}, not {value}"
    kept = session.run("side * 100 + known.twice()")
    return "" if kept.text == "114" else f"what was there before is {kept.text or kept.error['evalue']}, not 114"


def main():
    os.environ["LOCKSTEP_NOTEBOOK_MEMORY"] = str(MOST_GIB)
    compare = len(sys.argv) > 1
    mistakes = MISTAKES[: int(sys.argv[1])] if compare else MISTAKES
    session, faults = Session(), []
    try:
        prepare(session)
        for what, *cells in mistakes:
            fault = fault_of(session, *cells)
            if not fault:
                continue
            faults.append(f"{what}: {fault}")
            if compare:  # each mistake gets a new interpreter
                session.close()
                session = Session()
                prepare(session)
        print("\n".join(faults))
        print(f"{len(mistakes) - len(faults)} of {len(mistakes)} mistakes changed nothing and could be corrected")
        peak = session.run('#include <fstream>\nlong peak() {\n  std::ifstream file("/proc/self/status");\n  std::string word;\n'
                           '  while (file >> word) if (word == "VmHWM:") { long kib = 0; file >> kib; return kib; }\n  return -1;\n}\npeak()')
        gib = int(peak.text) / 2**20
        print(f"the C++ process took at most {gib:.2f} GiB of the {MOST_GIB} it may take")
        return 1 if faults or not 0 < gib < MOST_GIB * 1.1 else 0
    finally:
        session.close()


if __name__ == "__main__":
    sys.exit(main())
