"""The checks in notebooks compare distinct memory: one bit of one replica's copy is flipped, and each check must fail.

    flipped_bit_test.py [NOTEBOOK ...]

Without data sets, so that it is quick; a notebook ends at the cell that fails.
"""
import os
import re
import sys

import notebooks_test

# The variable whose bit is flipped, on replica 1 after step 1.
NOTEBOOKS = {"00-start-here": "conv2d/kernel", "mnist": "dense/kernel", "reuters": "dense/bias", "cats-vs-dogs": "Conv1/kernel",
             "colab": "dense/kernel"}
NOTICED = r"not so: the replicas are bit-identical.*|replicas (differ|DIFFER).*"
SEPARATOR = "------------------\n"  # nbclient's, around the cell's source, which comes first

missed = []
notebooks_test.forget_data()
for name in sys.argv[1:] or NOTEBOOKS:
    os.environ["LOCKSTEP_FLIP_BIT"] = f"replica=1,variable={NOTEBOOKS[name]},step=1"
    _, problem = notebooks_test.execute(name + ".ipynb")
    said = "".join((problem or "").split(SEPARATOR)[2:])  # what the cell printed, and its error
    found = re.search(NOTICED, said)
    print(f"{name}: {found.group(0) if found else 'NOT NOTICED: ' + (problem or 'it ran to its end')[-1500:]}")
    if not found:
        missed.append(name)
sys.exit(1 if missed else 0)
