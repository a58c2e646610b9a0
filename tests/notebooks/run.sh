#!/usr/bin/env bash
# A test of notebooks, in the Python that `./lockstep test` made for it (build/notebook-venv), with the kernel of this build.
#   run.sh KERNEL PROGRAM ...
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
kernel=$1
shift
if [[ $kernel == none ]]; then
  echo "Skipped: the notebooks' C++ kernel is not built (packages are missing: ./lockstep test installs them where they can be had)"
  exit 77
fi
python=${LOCKSTEP_NOTEBOOK_PYTHON:-$root/build/notebook-venv/bin/python}
if ! "$python" -c 'import nbclient, jupyter_kernel_test' >/dev/null 2>&1; then
  echo "Skipped: no Python with nbclient and jupyter_kernel_test (./lockstep test makes one in build/notebook-venv)"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Nothing of the user's own Jupyter takes part.
export JUPYTER_DATA_DIR=$folder/data JUPYTER_RUNTIME_DIR=$folder/runtime JUPYTER_CONFIG_DIR=$folder/config IPYTHONDIR=$folder/ipython
export JUPYTER_PLATFORM_DIRS=1 PYTHONDONTWRITEBYTECODE=1
mkdir -p "$root/build" "$folder/data/kernels/xcpp17"
"$root/notebooks/kernel/kernelspec.sh" "$kernel" >"$folder/data/kernels/xcpp17/kernel.json"
# The Python notebook looks for the project in the folders above it, and uses this build.
export LOCKSTEP_BUILD=$(cd "$(dirname "$kernel")/.." && pwd) LOCKSTEP_NOTEBOOK_FOLDER=$root/build
"$python" "$@"
