"""Every notebook's C++ cells through real Cling, the interpreter of xeus-cling (here from the Python package cppyy).

    cling_test.py BUILD [NOTEBOOK ...]

One process for each notebook, for a GPU is split once.
"""
import json
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "notebooks"


def pieces(build, cell):
    ran = subprocess.run([build / "notebooks" / "lockstep-interpreter", "--pieces"], input=cell, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def run(build, name):
    import cppyy

    cppyy.add_include_path(str(FOLDER.parent / "engine" / "include"))
    cppyy.load_library(str(build / "lib" / "liblockstep.so"))
    notebook = json.loads((FOLDER / name).read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        if cell.lstrip().startswith("?"):
            continue
        for piece in pieces(build, cell):
            text = piece["text"]
            try:
                if piece["runs"]:
                    done = cppyy.cppexec(text + (";" if piece["open"] else ""))
                else:
                    done = cppyy.cppdef(text)
            except Exception as error:  # of C++ or of Cling
                print(f"{name}, code cell {number}:\n{text}\n{error}")
                return 1
            if not done:
                print(f"{name}, code cell {number}: Cling refuses\n{text}")
                return 1
    print(f"\n{name}: {len(cells)} cells went through Cling")
    return 0


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if len(sys.argv) == 3:
        return run(build, sys.argv[2])
    failed = [path.name for path in sorted(FOLDER.glob("*.ipynb"))
              if re.search('"name": "xcpp17"', path.read_text()) and subprocess.run([sys.executable, __file__, build, path.name], check=False).returncode]
    print("refused: " + ", ".join(failed) if failed else "every notebook goes through Cling")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
