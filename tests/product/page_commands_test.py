#!/usr/bin/env python3
"""Runs the commands of the README and of the pages in docs/, as they stand: fenced blocks of `sh`, and inline code that begins with
`./lockstep` or `lockstep`. (Blocks of C++ are compiled by tests/CMakeLists.txt.)

page_commands_test.py PROGRAM [PAGE ...]

Training runs get --quick where they have no shorter way of their own; the bare name of a command gets --help. What is not run here is run by
the test that ELSEWHERE names beside it, which must exist, or can't be run on this machine (AWAY). A line that is none of these is a
failure, and so is an entry that no page needs any more.
"""
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PROGRAM = os.path.abspath(sys.argv[1])
PAGES = sys.argv[2:] or ["README.md", "CONTRIBUTING.md", *sorted(glob.glob("docs/**/*.md", root_dir=ROOT, recursive=True))]

ELSEWHERE = {  # command: the test that runs it
    r"lockstep test\b": "product.entry_point",  # in a tree of stand-ins; for real it is what runs this
    r"lockstep format$": "product.style_format",  # with --check, so that no source is changed
    r"lockstep bundle\b": "notebooks.bundle",
    r"lockstep bench --profile\b": "product.bench_profile",
    r"lockstep bench --scaling\b": "product.bench_scaling",
    r"lockstep bench --coalescing\b": "product.bench_coalescing",
    r"lockstep notebook\b": "notebooks.jupyter_suite",
    r"lockstep lesson \d": "lessons.01-replicate",  # and its neighbours, one for each lesson
    r"lockstep lesson --all": "lessons.command",
    r"--feature-extraction": "CatsVsDogsTraining.FeatureExtractionIsNearlyAlwaysRight",
    r"lockstep run cats-vs-dogs$": "browser.trace_page",  # with --quick; whole epochs: CatsVsDogsTraining.LearnsFromScratch
}
AWAY = {  # command: what it takes
    r"LOCKSTEP_PRESET=cuda": "a GPU; product.same_kernels_in_sim_and_cuda looks at what was built for it",
    r"^(nsys|compute-sanitizer)\b": "a GPU",
    r"lockstep bench --peers\b": "some 4 GB of other frameworks",
    r" \.\.\. |--seed n$": "a word in place of the dots",
}


def commands_of(page):
    text = open(os.path.join(ROOT, page), encoding="utf-8").read()
    found = []
    for block in re.findall(r"^```(?:sh|bash)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"(^|\s)#.*", "", line).strip()
            if line:
                found.append(line)
    outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for inline in re.findall(r"`((?:[A-Z_]+=\S+ )*(?:\./)?lockstep [a-z][^`\n]*)`", outside):
        found.append(inline.strip())
    return found


def prepared(words):
    """What is run: never longer than need be."""
    if len(words) == 1:
        return [*words, "--help"]
    if "run" in words and "--quick" not in words and "--help" not in words and "--epochs" not in words:
        return [*words, "--quick"]
    return words


def known_tests():
    """Of the build that the program belongs to; None where it stands alone or not all tests are built."""
    build = os.path.dirname(os.path.dirname(PROGRAM))
    if not os.path.exists(os.path.join(build, "CTestTestfile.cmake")):
        return None
    listing = subprocess.run(["ctest", "-N", "--test-dir", build], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"Test +#\d+: (\S+)", listing))
    return None if any(name.endswith("_NOT_BUILT") for name in names) else names


done, elsewhere, away, failures, used = set(), 0, 0, [], set()
tests = known_tests()
for pattern, test in ELSEWHERE.items():
    if tests is None or (test.startswith("notebooks.") and "notebooks.kernel" not in tests):  # without clang there is no kernel
        continue
    if test not in tests:
        failures.append(f"ELSEWHERE: there is no test {test}")
with tempfile.TemporaryDirectory() as folder:
    for page in PAGES:
        for command in commands_of(page):
            other = [pattern for pattern in (*ELSEWHERE, *AWAY) if re.search(pattern, command)]
            if other:
                used.add(other[0])
                elsewhere += other[0] in ELSEWHERE
                away += other[0] in AWAY
                continue
            if command in done:
                continue
            done.add(command)
            words = shlex.split(command)
            environment = dict(os.environ)
            while words and "=" in words[0]:
                name, value = words.pop(0).split("=", 1)
                environment[name] = value
            if not words or os.path.basename(words[0]) != "lockstep":
                failures.append(f"{page}: '{command}' is neither ours nor in ELSEWHERE or AWAY")
                continue
            words = [PROGRAM, *prepared(words[1:])]
            result = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False)
            if result.returncode == 1 and "could not be downloaded" in result.stderr:
                print(f"no data {page}: {command}")
                continue
            print(f"{'ok    ' if result.returncode == 0 else 'FAILED'} {page}: {command}", flush=True)
            if result.returncode != 0:
                failures.append(f"{page}: '{command}' ended with {result.returncode}: {result.stderr.strip()[-500:]}")
            for number, word in enumerate(words):  # what it was told to write is there
                if word in ("--save", "--trace") and result.returncode == 0 and not os.path.getsize(os.path.join(folder, words[number + 1])):
                    failures.append(f"{page}: '{command}' wrote no {words[number + 1]}")
if len(sys.argv) == 2:
    for pattern in {*ELSEWHERE, *AWAY} - used:
        failures.append(f"no page has a command for {pattern!r} any more")
for failure in failures:
    print("FAILED", failure)
print(f"{len(done)} commands run, {elsewhere} left to other tests, {away} for other machines, {len(failures)} failures")
sys.exit(1 if failures else 0)
