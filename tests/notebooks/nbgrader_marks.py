"""For nbgrader.sh: hands the solution in, and reads the marks.

    nbgrader_marks.py hand_in SOURCE RELEASED      the solutions of SOURCE into the cells of RELEASED
    nbgrader_marks.py marks GRADES GOOD OTHER      GOOD has every point, OTHER fewer
"""
import csv
import json
import sys


def hand_in(source, released):
    with open(source) as file:
        solutions = {cell["metadata"]["nbgrader"]["grade_id"]: cell["source"] for cell in json.load(file)["cells"]
                     if cell["metadata"].get("nbgrader", {}).get("solution")}
    with open(released) as file:
        notebook = json.load(file)
    for cell in notebook["cells"]:
        mark = cell["metadata"].get("nbgrader", {})
        if mark.get("solution"):
            cell["source"] = solutions[mark["grade_id"]]
    with open(released, "w") as file:
        json.dump(notebook, file)
    return 0 if solutions else "the notebook has no cell to be solved"


def marks(grades, good, other):
    with open(grades) as file:
        scores = {row["student_id"]: (float(row["score"] or 0), float(row["max_score"])) for row in csv.DictReader(file)}
    print("scores:", scores)
    if scores[good][0] != scores[good][1] or scores[good][1] < 1:
        return "the solution did not get every point"
    return 0 if scores[other][0] < scores[other][1] else "what was handed out got every point"


if __name__ == "__main__":
    sys.exit(hand_in(*sys.argv[2:]) if sys.argv[1] == "hand_in" else marks(*sys.argv[2:]))
