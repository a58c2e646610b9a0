#!/usr/bin/env python3
"""The additions of docs/extending.md work: applies the patches of docs/extending, builds what they change and runs their tests.

    extending_test.py BUILD

The tree and the build folder are seen through an overlay in a mount namespace: the build is incremental, and nothing on disk changes. Exit code 77 where
such a mount is not possible.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
LOCKSTEP, TESTS = BUILD / "cli" / "lockstep", BUILD / "tests"
PATCHES = sorted((ROOT / "docs" / "extending").glob("*.patch"))
MOST_FILES = 3  # beside the test
TEST_FILES = re.compile(r"tests/|lessons/.*/(lesson_test\.cc|hints\.md|questions\.md|mistakes\.md)$")  # hints and questions belong to the suites and results of its test
TARGETS = ["lockstep", "lessons", "test_distribute", "test_nn", "test_clock"]


def gtest(program, *filters):
    return [TESTS / program, "--gtest_brief=1", "--gtest_filter=" + ":".join(filters)]


# Patch: its tests, and what each must print.
CHECKS = {
    "all-reduce": [(gtest("test_distribute", "ChainAllReduce.*", "*EveryAlgorithm*/chain_*"), r"PASSED  \] [1-9]\d tests"),
                   ([LOCKSTEP, "run", "mnist", "--quick", "--logical", "3", "--all-reduce", "chain"], r"3 replicas bit-identical")],
    "layer": [(gtest("test_nn", "Average.*", "LayerTable.*", "*LayerGradient*Average*"), r"PASSED  \] [3-9] tests")],
    "lesson": [([ROOT / "lessons" / "prove.py", LOCKSTEP, ROOT / "lessons" / "15-clipping"], r"3 mistakes get their message")],
    "machine": [(gtest("test_clock", "MachineL4.*"), r"PASSED  \] 1 test\b"),
                ([LOCKSTEP, "project", "mnist", "--machine", "l4", "--nodes", "1"], r"one L4")],
    "optimizer": [(gtest("test_nn", "SGDW.*"), r"PASSED  \] 1 test\b")],
}


def run(command, wanted=""):
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0 or not re.search(wanted, done.stdout):
        print(f"FAILED with code {done.returncode}: {' '.join(map(str, command))}, wanted: {wanted}\n{done.stdout[-6000:]}")
    return done.returncode == 0 and bool(re.search(wanted, done.stdout))


def overlay(folder, scratch):
    """What is written to `folder` goes to `scratch`. An OSError where that is not possible."""
    for part in ("above", "work"):
        (scratch / part).mkdir(parents=True)
    layers = f"userxattr,lowerdir={folder},upperdir={scratch}/above,workdir={scratch}/work"
    done = subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, folder], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise OSError(done.stderr.strip())


def inside(scratch):
    """In a mount namespace of its own; `scratch` is an empty folder."""
    try:
        for number, folder in enumerate([ROOT] if BUILD.is_relative_to(ROOT) else [ROOT, BUILD]):
            overlay(folder, scratch / str(number))
        redirects = BUILD / "CMakeFiles" / "pkgRedirects"  # CMake removes and creates it, which some file systems below an overlay do not allow
        redirects.rmdir()
        redirects.mkdir()
    except OSError as error:
        print(f"skipped: no overlay can be used here: {error}")
        return 77
    good = all([run(["git", "apply", patch]) for patch in PATCHES])
    began = time.monotonic()
    good = good and run(["ninja", "-C", BUILD, *TARGETS])
    print(f"built in {time.monotonic() - began:.0f} s", flush=True)
    for patch, checks in CHECKS.items() if good else []:
        passed = all([run(*check) for check in checks])
        print(f"{'ok    ' if passed else 'FAILED'} {patch}", flush=True)
        good = good and passed
    return 0 if good else 1


def main():
    if len(sys.argv) > 2:
        return inside(pathlib.Path(sys.argv[2]))
    good = {patch.stem for patch in PATCHES} == set(CHECKS)
    for patch in PATCHES:
        files = re.findall(r"^\+\+\+ b/(.*)$", patch.read_text(), re.M)
        own = [name for name in files if not TEST_FILES.match(name)]
        print(f"{patch.stem}: {len(own)} files and {len(files) - len(own)} of its test: {', '.join(own)}")
        good = good and 0 < len(own) <= MOST_FILES and len(own) < len(files)
    if not good:
        print(f"FAILED: each of {', '.join(CHECKS)} has a patch with a test and at most {MOST_FILES} other files")
        return 1
    if subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: no mount namespace here (unshare -rm)")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        code = subprocess.run(["unshare", "-rm", sys.executable, __file__, BUILD, scratch]).returncode
        subprocess.run(["chmod", "-R", "u+rwX", scratch])  # an overlay leaves a folder without permissions
    return code


sys.exit(main())
