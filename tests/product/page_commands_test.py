#!/usr/bin/env python3
"""Runs the commands of the README and of the pages in docs/, as they stand: fenced blocks of `sh`, and inline code that begins with
`./lockstep` or `lockstep`. (Blocks of C++ are compiled by tests/CMakeLists.txt.) Files that these pages and those of lessons and notebooks
name or link to must exist.

page_commands_test.py PROGRAM [PAGE ...]

Training runs get --quick unless they are short already; the bare name of a command gets --help. A command that is not run here is run by the test
that OTHER_TESTS names, which must exist, or can't be run on this machine (OTHER_MACHINES). A command that is none of these is a failure, and so
is an entry that no page uses.
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

OTHER_TESTS = {  # command: the test that runs it
    r"lockstep test\b": "product.entry_point",  # in a tree of stand-ins; for real it is what runs this
    r"lockstep format$": "product.style_format",  # with --check, so that no source is changed
    r"lockstep bundle\b": "notebooks.bundle",
    r"lockstep bench --gpu\b": "product.bench_gpu",
    r"lockstep bench --profile\b": "product.bench_profile",
    r"lockstep bench --scaling\b": "product.bench_scaling",
    r"lockstep bench --warps\b": "product.bench_warps",
    r"lockstep bench ptx\b": "product.bench_ptx",
    r"^nvcc\b|lockstep exec\b": "exec.programs",
    r"lockstep notebook\b": "notebooks.jupyter_suite",
    r"lockstep lesson \d": "lessons.01-replicate",  # and its neighbours, one for each lesson
    r"lockstep lesson --all": "lessons.command",
    r"lockstep exam\b": "product.exams",
    r"--feature-extraction": "CatsVsDogsTraining.FeatureExtractionIsNearlyAlwaysRight",
    r"lockstep run cats-vs-dogs$": "browser.trace_page",  # with --quick; whole epochs: CatsVsDogsTraining.LearnsFromScratch
}
OTHER_MACHINES = {  # command: what it takes
    r"LOCKSTEP_PRESET=cuda": "a GPU; product.same_kernels_in_sim_and_cuda looks at what was built for it",
    r"^(nsys|compute-sanitizer)\b": "a GPU",
    r"lockstep bench --(peers|host-costs)\b": "some 4 GB of other frameworks",
    r" \.\.\. |--seed n$": "an argument in place of the dots",
}
PLACEHOLDER = re.compile(r"NAME|NN-|\.\.\.|/x$|lessons/work")


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


def missing_files(page):
    """Links and names of sources, such as `engine/nn/dense.cc`, that lead nowhere."""
    text = open(os.path.join(ROOT, page), encoding="utf-8").read()
    outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", outside) if "://" not in link]
    names = [name for name in re.findall(r"`((?:engine|simulator|cli|tests|bench|common|lessons)/[\w./*-]+)`", outside) if not PLACEHOLDER.search(name)]
    return [link for link in links if not os.path.exists(os.path.join(ROOT, os.path.dirname(page), link))] + [
        name for name in names if not glob.glob(os.path.join(ROOT, name)) + glob.glob(os.path.join(ROOT, name + ".*"))]


def prepared(words):
    """The arguments with which a command is run: as short as possible."""
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


done, left, away, failures, used = set(), 0, 0, [], set()
tests = known_tests()
for pattern, test in OTHER_TESTS.items():
    if tests is None or (test.startswith("notebooks.") and "notebooks.kernel" not in tests):  # without clang there is no kernel
        continue
    if test not in tests:
        failures.append(f"OTHER_TESTS: there is no test {test}")
for page in [*PAGES, *glob.glob("lessons/**/*.md", root_dir=ROOT, recursive=True), "notebooks/README.md"]:
    failures += [f"{page}: there is no {name}" for name in missing_files(page)]
with tempfile.TemporaryDirectory() as folder:
    for page in PAGES:
        for command in commands_of(page):
            other = [pattern for pattern in (*OTHER_TESTS, *OTHER_MACHINES) if re.search(pattern, command)]
            if other:
                used.add(other[0])
                left += other[0] in OTHER_TESTS
                away += other[0] in OTHER_MACHINES
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
                failures.append(f"{page}: '{command}' is neither ours nor in OTHER_TESTS or OTHER_MACHINES")
                continue
            words = [PROGRAM, *prepared(words[1:])]
            result = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False)
            if result.returncode == 1 and "could not be downloaded" in result.stderr:
                print(f"no data {page}: {command}")
                continue
            print(f"{'ok    ' if result.returncode == 0 else 'FAILED'} {page}: {command}", flush=True)
            if result.returncode != 0:
                failures.append(f"{page}: '{command}' ended with {result.returncode}: {result.stderr.strip()[-500:]}")
            for number, word in enumerate(words):  # the file it writes must exist
                if word in ("--save", "--trace") and result.returncode == 0 and not os.path.getsize(os.path.join(folder, words[number + 1])):
                    failures.append(f"{page}: '{command}' wrote no {words[number + 1]}")
if len(sys.argv) == 2:
    for pattern in {*OTHER_TESTS, *OTHER_MACHINES} - used:
        failures.append(f"no page has a command for {pattern!r} any more")
for failure in failures:
    print("FAILED", failure)
print(f"{len(done)} commands run, {left} left to other tests, {away} for other machines, {len(failures)} failures")
sys.exit(1 if failures else 0)
