"""colab.ipynb with the archive of `./lockstep bundle` and nothing else of the project: found packed, then unpacked.

    colab_bundle_test.py ROOT PRESET
"""
import os
import shutil
import subprocess
import sys
import tempfile

import notebooks_test

ROOT, PRESET = sys.argv[1:]
os.environ.pop("LOCKSTEP_BUILD", None)
notebooks_test.forget_data()
failed = 0
with tempfile.TemporaryDirectory() as folder:
    archive = os.path.join(folder, "lockstep-sim.tar.gz")
    environment = dict(os.environ, LOCKSTEP_INSTALL="no", LOCKSTEP_PRESET=PRESET)
    subprocess.run([os.path.join(ROOT, "lockstep"), "bundle", archive], check=True, env=environment, capture_output=True)
    os.environ["LOCKSTEP_NOTEBOOK_FOLDER"] = folder
    for state in ("packed", "unpacked"):
        if state == "unpacked":
            shutil.unpack_archive(archive, folder)
            os.remove(archive)
        notebook, problem = notebooks_test.execute("colab.ipynb")
        said = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
        if problem or "as a bundle" not in said:
            print(f"{state}: {problem or 'the bundle was not used'}")
            failed = 1
sys.exit(failed)
