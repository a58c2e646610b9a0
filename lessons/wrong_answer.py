#!/usr/bin/env python3
"""Prints a wrong answer of a lesson: its solution with a patch (unified, as `diff -U1` writes it) applied.

    wrong_answer.py SOLUTION PATCH

Each hunk must match exactly one place of the solution, so a solution that changes under a patch fails the lesson's test. Line numbers are not used:
lines above a hunk may come and go. The project does not need the package `patch` for this.
"""
import sys


def hunks(patch):
    found = []
    for line in patch:
        if line.startswith("@@"):
            found.append([])
        elif found:
            found[-1].append(line)
    return found


def apply(solution, patch):
    for hunk in hunks(patch):
        before = [line[1:] for line in hunk if line[0] in " -"]
        after = [line[1:] for line in hunk if line[0] in " +"]
        places = [i for i in range(len(solution)) if solution[i : i + len(before)] == before]
        if len(places) != 1:
            raise SystemExit(f"the patch does not apply: {len(places)} places of the solution match\n" + "".join(hunk))
        solution = solution[: places[0]] + after + solution[places[0] + len(before) :]
    return solution


if __name__ == "__main__":
    texts = [open(path, encoding="utf-8").read().splitlines(keepends=True) for path in sys.argv[1:3]]
    wrong = apply(*texts)
    if wrong == texts[0]:
        raise SystemExit("the patch changes nothing")
    sys.stdout.writelines(wrong)
