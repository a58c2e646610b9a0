"""Runs one notebook from top to bottom on the project's kernel, and fails on the first error; or checks how all of them are kept.

    notebooks_test.py NOTEBOOK                  with the data sets that the environment names
    notebooks_test.py NOTEBOOK --without-data   with none: the notebook draws or invents its own
    notebooks_test.py --record NOTEBOOK ...     runs them and keeps what they show in their files
    notebooks_test.py --check                   outputs, kernels, sizes of cells, tables of two columns

Tags of cells: `warns` means that a cell is expected to write a warning; `shows-data` that it shows samples, which may not be redistributed: its kept output comes from a
run without data.
"""
import ast
import json
import os
import pathlib
import re
import sys
import tempfile
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "notebooks"
LARGEST = 1 << 20  # bytes of a notebook with its outputs
NO_NVRTC = "NVRTC (libnvrtc.so) is not installed"
PROGRAMS = ("mnist", "reuters", "cats-vs-dogs")


def tags(cell):
    return cell["metadata"].get("tags", [])


def forget_data():
    """No data set is found, in the environment, at home or in the network."""
    os.environ.pop("LOCKSTEP_DATA", None)
    os.environ["LOCKSTEP_OFFLINE"] = "1"
    os.environ["HOME"] = os.environ["JUPYTER_CONFIG_DIR"]  # of this test alone


def execute(name):
    """The notebook with its outputs, and what went wrong, or None."""
    notebook = nbformat.read(FOLDER / name, as_version=4)
    begin = time.monotonic()
    # A notebook runs in a temporary folder, from which it finds the project.
    with tempfile.TemporaryDirectory(dir=os.environ.get("LOCKSTEP_NOTEBOOK_FOLDER")) as folder:
        try:
            # coalesce_streams: a progress line that was written over is kept as it ended.
            NotebookClient(notebook, timeout=900, coalesce_streams=True, resources={"metadata": {"path": folder}}).execute()
        except CellExecutionError as error:
            return notebook, str(error)
        if name == "colab.ipynb" and os.listdir(folder):
            return notebook, f"{name} leaves behind: {', '.join(os.listdir(folder))}"
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    print(f"{name}: {len(cells)} cells, {time.monotonic() - begin:.1f} s")
    for number, cell in enumerate(cells, 1):
        warned = "".join(output.text for output in cell.outputs if output.output_type == "stream" and output.name == "stderr").strip()
        if warned and "warns" not in tags(cell):
            return notebook, f"{name}, code cell {number} wrote to stderr:\n{warned}"
        if "warns" in tags(cell) and not warned.startswith("Warning: "):
            return notebook, f"{name}, code cell {number} was to warn"
    return notebook, None


def run(name, without_data):
    if without_data:
        forget_data()
    problem = execute(name)[1]
    if problem and NO_NVRTC in problem:  # the notebook has said what to install
        print(f"Skipped: {NO_NVRTC}")
        return 77
    if problem:
        print(problem)
    return 1 if problem else 0


def kept_output(output):
    """An output as it is kept: no times of execution, no ids, no paths of this machine."""
    output.get("metadata", {}).clear()
    if output.output_type == "stream":
        output.text = re.sub(r"\x1b\[K", "", output.text)
        output.text = "".join(line.rpartition("\r")[2] for line in output.text.splitlines(keepends=True))
    return output


def record(names):
    """Twice: with the data sets, and without them for the cells that show samples."""
    for name in names:
        notebook, problem = execute(name)
        if problem:
            print(problem)
            return 1
        outputs = {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
        if any("shows-data" in tags(cell) for cell in notebook.cells):
            saved = dict(os.environ)
            forget_data()
            drawn, problem = execute(name)
            os.environ.clear(), os.environ.update(saved)
            if problem:
                print(problem)
                return 1
            note = "What stands here was drawn by the notebook itself; run the cell to see your own data.\n"
            for cell in drawn.cells:
                if "shows-data" in tags(cell):
                    outputs[cell.id] = [nbformat.v4.new_output("stream", name="stdout", text=note), *cell.outputs]
        kept = nbformat.read(FOLDER / name, as_version=4)
        number = 0
        for cell in kept.cells:
            if cell.cell_type == "code":
                number += 1
                cell.execution_count = number
                cell.outputs = [kept_output(output) for output in outputs[cell.id]]
                for output in cell.outputs:
                    if output.output_type == "execute_result":
                        output.execution_count = number
        (FOLDER / name).write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    return 0


def code_of(notebook, kind):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def table_faults(name, notebook):
    """Both columns of a program's table: Python that Python reads, C++ that stands in the cells."""
    texts = "\n".join(code_of(notebook, "markdown"))
    python, ours = (re.findall(rf"```{language}\n(.*?)```", texts, re.DOTALL) for language in ("python", "cpp"))
    if not python or len(python) != len(ours):
        return [f"{name}: no table of two columns"]
    faults = []
    try:
        ast.parse("\n".join(python))
    except SyntaxError as error:
        faults.append(f"{name}: Python does not read the left column: {error}")
    lines = {line.strip() for cell in code_of(notebook, "code") for line in cell.splitlines()}
    for block in ours:
        faults += [f"{name}: no cell has this line of the right column: {line}" for line in block.splitlines() if line.strip() not in lines]
    return faults


def exercise_faults(name, notebook):
    """Three exercises: a solution between marks in a folded cell, then a cell that checks it."""
    marks = [cell["metadata"].get("nbgrader", {}) for cell in notebook["cells"]]
    faults = []
    if sum(mark.get("solution", False) for mark in marks) != 3 or sum(mark.get("grade", False) for mark in marks) != 3:
        faults.append(f"{name}: not three exercises with a check each")
    for cell, mark in zip(notebook["cells"], marks):
        source = "".join(cell["source"])
        if mark.get("solution") and not ("/// BEGIN SOLUTION" in source and "/// END SOLUTION" in source
                                         and cell["metadata"].get("jupyter", {}).get("source_hidden")):
            faults.append(f"{name}: a solution without marks, or not folded")
    return faults


def output_faults(where, cell):
    faults = []
    for output in cell["outputs"]:
        text = json.dumps(output)
        if output["output_type"] == "error":
            faults.append(f"{where}: keeps an error")
        if "warns" not in tags(cell) and output.get("name") == "stderr":
            faults.append(f"{where}: keeps a warning")
        if "\\r" in text.replace("\\r\\n", "") and output["output_type"] == "stream":
            faults.append(f"{where}: keeps progress that was written over")
        if re.search(r"/(root|home|work|tmp)/", text):
            faults.append(f"{where}: keeps a path of the machine it ran on")
        lines = "".join(output.get("text", "")).splitlines()
        faults += [f"{where}: a progress line of {len(line)} characters" for line in lines if "samples/s" in line and len(line) > 80]
    return faults


def check_all():
    """Kernels have the usual name, cells are short, there is text, and outputs are kept and small."""
    faults = []
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text())
        nbformat.validate(nbformat.from_dict(notebook))
        wanted = "python3" if path.name == "colab.ipynb" else "xcpp17"
        if notebook["metadata"]["kernelspec"]["name"] != wanted:
            faults.append(f"{path.name}: its kernel is not {wanted}")
        if "pygments_lexer" not in notebook["metadata"]["language_info"]:
            faults.append(f"{path.name}: without pygments_lexer its pages have no colours")
        if notebook["cells"][0]["cell_type"] != "markdown":
            faults.append(f"{path.name}: does not begin with a text")
        if path.stat().st_size > LARGEST:
            faults.append(f"{path.name}: {path.stat().st_size} bytes; outputs that are kept must be small")
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        if [cell["execution_count"] for cell in code] != list(range(1, len(code) + 1)):
            faults.append(f"{path.name}: its outputs are not kept, or not those of one run; notebooks_test.py --record makes them")
        for number, cell in enumerate(notebook["cells"], 1):
            where = f"{path.name}, cell {number}"
            lines = "".join(cell["source"]).splitlines()
            if cell["cell_type"] != "code":
                continue
            if len(lines) > 30:
                faults.append(f"{where}: {len(lines)} lines; one idea a cell")
            faults += [f"{where}: a line of {len(line)} characters" for line in lines if len(line) > 120]
            faults += output_faults(where, cell)
        if path.stem in PROGRAMS:
            faults += table_faults(path.name, notebook) + exercise_faults(path.name, notebook)
    print("\n".join(faults) or "all notebooks are kept as they should be")
    return 1 if faults else 0


def main(words):
    if words[0] == "--check":
        return check_all()
    if words[0] == "--record":
        return record(words[1:])
    return run(words[0], "--without-data" in words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
