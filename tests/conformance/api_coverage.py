#!/usr/bin/env python3
"""Says which calls of NVIDIA's libraries the engine makes, and that each of them has a test of its own.

The calls are the undefined symbols of the engine's library, so none is overlooked and none is made up. The table says which test
stands for which call; the test must be one that CTest knows, and its file (or what its room's tests share) must make the call.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

CALL = re.compile(r"^(cuda|cublas|cudnn|nccl|nvtx)[A-Z]\w*$|^cublasLt\w+$")
# A launch is a template in NVIDIA's header as in ours; this is what ours calls.
LAUNCH = "lockstep::sim::launch("


def calls_in(library):
    symbols = subprocess.run(["nm", "-u", "-C", str(library)], text=True, check=True, capture_output=True).stdout
    found = set()
    for line in symbols.splitlines():
        name = line.strip().removeprefix("U ").strip()
        if CALL.match(name):
            found.add(name)
        elif name.startswith(LAUNCH):
            found.add("cudaLaunchKernelEx")
    return found


def read_table(path):
    table = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 3 or words[1] not in ("reference", "semantics") or words[0] in table:
            sys.exit(f"{path.name}:{number}: one line for each call: call, reference or semantics, test")
        table[words[0]] = tuple(words[1:])
    return table


def known_tests(build):
    listing = subprocess.run(["ctest", "-N", "--test-dir", str(build)], text=True, check=True, capture_output=True).stdout
    names = set()
    for name in re.findall(r"Test +#\d+: (\S+)", listing):
        names.add(name)
        parts = name.split("/")  # Every/Convolutions.EqualAPlainLoop/forward: a test with a parameter
        names.update(part for part in parts if "." in part)
    return names


def texts_of_tests(rooms):
    """For each test its file, with what the room's tests share."""
    texts = {}
    for room in rooms:
        files = {f: f.read_text() for f in sorted(room.rglob("*")) if f.suffix in (".cc", ".cu", ".h")}
        shared = "\n".join(text for f, text in files.items() if "support" in f.parts)
        for text in files.values():
            for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", text, re.MULTILINE):
                texts[f"{suite}.{name}"] = text + shared
    return texts


def problems_of(calls, table, tests, texts):
    for call in sorted(calls - table.keys()):
        yield f"{call}: the engine calls it, and no test stands for it"
    for call, (_, test) in sorted(table.items()):
        if test not in tests or test not in texts:
            yield f"{call}: the test {test} does not exist"
        elif not re.search(rf"\b{call}\b", texts[test]):
            yield f"{call}: the file of {test} does not call it"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--engine", required=True, type=Path, help="the engine's library")
    arguments.add_argument("--table", required=True, type=Path)
    arguments.add_argument("--build", required=True, type=Path, help="build folder whose tests CTest lists")
    arguments.add_argument("--room", required=True, action="append", type=Path, help="folder of tests of the virtual GPU")
    given = arguments.parse_args()

    calls, table = calls_in(given.engine), read_table(given.table)
    problems = list(problems_of(calls, table, known_tests(given.build), texts_of_tests(given.room)))
    for problem in problems:
        print(problem)
    if unused := sorted(table.keys() - calls):
        print(f"tested, and not called by the engine: {', '.join(unused)}")
    good = {call for call in calls & table.keys() if not any(p.startswith(call + ":") for p in problems)}
    references = sum(table[call][0] == "reference" for call in good)
    print(f"API calls the engine makes: {len(calls)}, tested: {len(good)} = {100 * len(good) // max(1, len(calls))} % "
          f"({references} against a plain reference, {len(good) - references} against stated semantics)")
    return 1 if problems or not calls else 0


if __name__ == "__main__":
    sys.exit(main())
