"""The exercises of the three programs: the solution passes its check, and similar wrong answers do not."""
import json
import sys

import notebooks_test
from kernel_session import Session

# By grade_id: a part of the solution, and what a learner might write instead.
MISTAKES = {
    "mnist-1": [("(28 - kernel + 1) / 2", "28 / 2"), ("kernel * kernel * filters + filters", "kernel * kernel * filters")],
    "mnist-2": [("samples + batch - 1", "samples"), ("each * replicas", "each")],
    "mnist-3": [("2.0 * (replicas - 1)", "2.0 * replicas"), ("* 4 *", "*")],
    "reuters-1": [("text.end() - kept, text.end()", "text.begin(), text.begin() + kept"), ("out.end() - kept", "out.begin()")],
    "reuters-2": [("score > scores", "score >= scores"), ("above < k", "above <= k")],
    "reuters-3": [("classes - 1) - 1", "classes) - 1"), ("std::log(double(classes))", "1.0 / classes")],
    "cats-vs-dogs-1": [("(momentum, steps)", "(momentum, steps + 1)"), ("value + (start - value)", "start + (value - start)")],
    "cats-vs-dogs-2": [("9 * in + in * out", "9 * in * out"), ("9 * in + in * out", "9 * in + out")],
    "cats-vs-dogs-3": [("/ 4", "/ 2"), (" + (ma - mb) * (ma - mb) / 4", "")],
}


def passes(session, *cells):
    """Whether all of them run; one that fails does not stop what comes next."""
    results = [session.finish(session.client.execute(cell, stop_on_error=False)) for cell in cells]
    assert all(result.status in ("ok", "error") for result in results), "a cell was not run"
    return [result.status == "ok" for result in results]


def main():
    refused, faults = 0, []
    for program in notebooks_test.PROGRAMS:
        cells = json.loads((notebooks_test.FOLDER / f"{program}.ipynb").read_text())["cells"]
        session = Session()
        session.run("".join(next(cell for cell in cells if cell["cell_type"] == "code")["source"]))
        by_id = {cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"]) for cell in cells if "nbgrader" in cell["metadata"]}
        for exercise in [name for name in by_id if name + "-check" in by_id]:
            solution, test = by_id[exercise], by_id[exercise + "-check"]
            for right, wrong in MISTAKES[exercise]:
                assert right in solution, f"{exercise}: no {right}"
                if passes(session, solution.replace(right, wrong), test) != [True, False]:
                    faults.append(f"{exercise}: {wrong} instead of {right} is not refused")
                refused += 1
            if passes(session, solution, test) != [True, True]:
                faults.append(f"{exercise}: its solution fails")
        session.close()
    print("\n".join(faults) or f"9 solutions pass, {refused} wrong answers are refused")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
