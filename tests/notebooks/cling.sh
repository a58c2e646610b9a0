#!/usr/bin/env bash
# Notebooks through real Cling, in the Python that `./lockstep test --parity` made for it.
#   cling.sh BUILD
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=${LOCKSTEP_CLING_PYTHON:-$root/build/cling-venv/bin/python}
if ! "$python" -c 'import cppyy' >/dev/null 2>&1; then
  echo 'Skipped: no Python with cppyy (./lockstep test --parity makes one in build/cling-venv)'
  exit 77
fi
build=$(cd "$1" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" && "$python" "$root/tests/notebooks/cling_test.py" "$build"
