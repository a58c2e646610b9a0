#!/usr/bin/env python3
"""Runs the commands of the README and of the pages in docs/, as they stand: fenced blocks of `sh`, and inline code that begins with
`./lockstep` or `lockstep`. (Blocks of C++ are compiled by tests/CMakeLists.txt.)

page_commands_test.py PROGRAM [PAGE ...]

Training runs get --quick where they have no shorter way of their own. What is not run is in NOT_HERE with the reason; a line that is
neither run nor listed there is a failure.
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

NOT_HERE = {
    r"lockstep test\b": "this is what is running",
    r"lockstep format$": "changes the sources; `product.style_format` runs it with --check",
    r"lockstep (build|notebook|bundle|bench)\b": "long; has a test of its own",
    r"lockstep lesson\b": "has a test of its own (label lessons)",
    r"lockstep (trace|project)\b": "has a test of its own",
    r"\bcats-vs-dogs\b": "needs photos and minutes; in the tests of label training",
    r"^(mpirun|docker|git|cmake|sudo|nsys|ncu|compute-sanitizer|ninja|ctest|python3?|pip|apt-get|conda|ssh|export|cd)\b": "another program's",
    r"LOCKSTEP_(PRESET|WORKER|ADDRESS)=": "another machine's",
    r"lockstep data --fetch": "needs the network",
    r"--load |predict ": "goes on from a file of an earlier command; tests/product/terminal_test.py and command_line_test.py load files",
    r"[A-Z]{4,}\b(?!=)|\.\.\.|WORKLOAD|FILE": "a pattern, not a command",
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


def quick(words):
    if "run" in words and "--quick" not in words and "--help" not in words and "--epochs" not in words:
        return [*words, "--quick"]
    return words


done, skipped, failures = set(), 0, []
with tempfile.TemporaryDirectory() as folder:
    for page in PAGES:
        for command in commands_of(page):
            if any(re.search(pattern, command) for pattern in NOT_HERE):
                skipped += 1
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
                failures.append(f"{page}: '{command}' is neither ours nor in NOT_HERE")
                continue
            words = [PROGRAM, *quick(words[1:])]
            result = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False)
            if result.returncode == 1 and "could not be downloaded" in result.stderr:
                print(f"no data {page}: {command}")
                continue
            print(f"{'ok    ' if result.returncode == 0 else 'FAILED'} {page}: {command}")
            if result.returncode != 0:
                failures.append(f"{page}: '{command}' ended with {result.returncode}: {result.stderr.strip()[-500:]}")
for failure in failures:
    print("FAILED", failure)
print(f"{len(done)} commands run, {skipped} not run here (see NOT_HERE), {len(failures)} failures")
sys.exit(1 if failures else 0)
