#!/usr/bin/env python3
"""Kernels compiled for x86-64-v2, v3 and v4 train to the same bits: kernel_levels_test.py PROGRAM LIBRARY.

The levels differ in the width of vectors and the number of registers, but not in results. Each level that this processor can run is
loaded in place of the one that the loader would pick; matrix products and oneDNN's convolutions are the same for all. Exit code 77: there is
only one level here, or no data (LOCKSTEP_DATA).
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAMS = [["mnist"], ["mnist", "--logical", "3"], ["reuters"], ["cats-vs-dogs", "--image", "32", "--batch", "32"]]
FLAGS = {"v2": set(), "v3": {"avx2", "fma", "bmi2"}, "v4": {"avx512f", "avx512bw", "avx512dq", "avx512vl"}}


def levels(library):
    """By name, the folder of each level's library."""
    folder, name = os.path.split(library)
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpus:
        here = set(re.search(r"^flags\s*:(.*)$", cpus.read(), re.M).group(1).split())
    places = {"v2": folder, **{level: os.path.join(folder, "glibc-hwcaps", f"x86-64-{level}") for level in ("v3", "v4")}}
    return {level: os.path.join(place, name) for level, place in places.items() if FLAGS[level] <= here and os.path.exists(os.path.join(place, name))}


def checksum(program, words, library):
    with tempfile.TemporaryDirectory() as alone:  # beside it the loader would find the others
        shutil.copy(library, alone)
        environment = dict(os.environ, LD_LIBRARY_PATH=alone)
        run = subprocess.run([program, "run", *words, "--quick"], capture_output=True, text=True, env=environment, check=False)
    found = re.search(r"checksum ([0-9a-f]{16})", run.stdout)
    if not found:
        sys.exit(f"{' '.join(words)} failed:\n{run.stdout}{run.stderr}")
    return found.group(1)


def main():
    program, library = sys.argv[1], sys.argv[2]
    found = levels(library)
    if len(found) < 2 or "LOCKSTEP_DATA" not in os.environ:
        print(f"levels here: {', '.join(found)}; LOCKSTEP_DATA: {os.environ.get('LOCKSTEP_DATA', 'not set')}")
        sys.exit(77)
    failures = 0
    for words in PROGRAMS:
        sums = {level: checksum(program, words, path) for level, path in found.items()}
        same = len(set(sums.values())) == 1
        failures += not same
        print(f"{' '.join(words)}: {sums} {'the same' if same else 'DIFFER'}")
    print(f"{len(PROGRAMS) - failures} passed, {failures} failed")
    sys.exit(failures != 0)


main()
