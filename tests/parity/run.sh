#!/usr/bin/env bash
# Runs a script with the Python that has Keras: LOCKSTEP_PARITY_PYTHON, or the environment that `./lockstep test --parity` makes. 77: there is none.
python=${LOCKSTEP_PARITY_PYTHON:-build/parity-venv/bin/python}
[[ -x $python ]] || { echo "skipped: no Python with Keras; ./lockstep test --parity makes one"; exit 77; }
exec "$python" "$@"
