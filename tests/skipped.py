#!/usr/bin/env python3
"""Tells which tests did not run, and why, from the results that ctest writes with --output-junit.

    skipped.py BUILD RESULTS.xml [LABEL]

Prints the skipped tests grouped by the reason that each gave, and how many tests with the LABEL ran.
"""

import collections
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as tree


def reason(output):
    """What a test said: GoogleTest's text behind `: Skipped`, or the line of a script that begins with `skipped`; else its last line."""
    lines = [line.strip() for line in (output or "").splitlines() if line.strip()]
    for before, line in zip(lines, lines[1:]):
        if before.endswith(": Skipped"):
            return plain(line)
    said = [line for line in lines if line.lower().startswith("skipped")]
    return plain((said or lines or ["no reason given"])[-1])


def plain(line):
    return re.sub(r"^skipped:? *", "", line, flags=re.IGNORECASE) or "no reason given"


def labelled(build, label):
    """Names of the tests with this label. The results do not say; ctest's list does."""
    listed = json.loads(subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", "-L", f"^{label}$"], check=True, capture_output=True).stdout)
    return {test["name"] for test in listed["tests"]}


def main():
    cases = list(tree.parse(sys.argv[2]).getroot().iter("testcase"))
    groups = collections.defaultdict(list)
    for case in cases:
        if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            groups[reason(case.findtext("system-out"))].append(case)
    for label in sys.argv[3:]:
        names = labelled(sys.argv[1], label)
        there = {case.get("name") for case in cases} & names
        skipped = {case.get("name") for group in groups.values() for case in group} & names
        if there:
            print(f"Of {len(there)} tests labelled {label}, {len(there) - len(skipped)} ran.")
    if not groups:
        return
    print(f"Skipped: {sum(map(len, groups.values()))} of {len(cases)} tests.")
    for why, there in sorted(groups.items()):
        print(f"  {why}")
        names = [case.get("name") for case in there]
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        print(f"    {len(names)}: {shown}")


main()
