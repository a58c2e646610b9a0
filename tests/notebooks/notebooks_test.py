"""Runs one notebook from top to bottom on the project's kernel, and fails on the first error; or checks how all of them are kept."""
import json
import os
import pathlib
import sys
import tempfile
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "notebooks"


def run(name):
    notebook = nbformat.read(FOLDER / name, as_version=4)
    begin = time.monotonic()
    # What a notebook writes goes to a folder that is thrown away; what it looks for is found from there.
    with tempfile.TemporaryDirectory(dir=os.environ.get("LOCKSTEP_NOTEBOOK_FOLDER")) as folder:
        return execute(name, notebook, folder, begin)


def execute(name, notebook, folder, begin):
    try:
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    except CellExecutionError as error:
        print(error)
        return 1
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    print(f"{name}: {len(cells)} cells, {time.monotonic() - begin:.1f} s")
    for cell in cells:
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stderr" and output.text.strip():
                print(f"{name}: a cell wrote to stderr:\n{output.text}")
                return 1
    return 0


def check_all():
    """Outputs are cleared, kernels are named as everywhere, cells are short, texts are there."""
    faults = []
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text())
        nbformat.validate(nbformat.from_dict(notebook))
        wanted = "python3" if path.name == "colab.ipynb" else "xcpp17"
        if notebook["metadata"]["kernelspec"]["name"] != wanted:
            faults.append(f"{path.name}: its kernel is not {wanted}")
        if notebook["cells"][0]["cell_type"] != "markdown":
            faults.append(f"{path.name}: does not begin with a text")
        for number, cell in enumerate(notebook["cells"], 1):
            lines = "".join(cell["source"]).splitlines()
            if cell["cell_type"] == "code" and (cell["outputs"] or cell["execution_count"] is not None):
                faults.append(f"{path.name}, cell {number}: has outputs; clear them before committing")
            if cell["cell_type"] == "code" and len(lines) > 30:
                faults.append(f"{path.name}, cell {number}: {len(lines)} lines; one idea a cell")
            faults += [f"{path.name}, cell {number}: a line of {len(line)} characters" for line in lines
                       if cell["cell_type"] == "code" and len(line) > 120]
    print("\n".join(faults) or "all notebooks are kept as they should be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(check_all() if sys.argv[1] == "--check" else run(sys.argv[1]))
