# shellcheck shell=bash
# For the scripts of this folder: sets $root, $kernel, $python and a temporary $folder, and exports the environment of a Jupyter that has the kernel
# of this build and nothing of the user's own. Exit code 77 where the kernel or the Python is missing.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

use_jupyter() {  # kernel, name of the environment in build/, Python of the user's choice or nothing, command that makes it, modules it must have
  if [[ $1 == none ]]; then
    echo "Skipped: the notebooks' C++ kernel is not built (packages are missing: ./lockstep test installs them where they are available)"
    exit 77
  fi
  kernel=$(readlink -f "$1") python=${3:-$root/build/$2-venv/bin/python}
  if ! "$python" -c "import $5" >/dev/null 2>&1; then
    echo "Skipped: no Python with $5 ($4 makes one in build/$2-venv)"
    exit 77
  fi
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  export JUPYTER_DATA_DIR=$folder/data JUPYTER_RUNTIME_DIR=$folder/runtime JUPYTER_CONFIG_DIR=$folder/config IPYTHONDIR=$folder/ipython
  export JUPYTER_PLATFORM_DIRS=1 PYTHONDONTWRITEBYTECODE=1
  mkdir -p "$root/build" "$folder/data/kernels/xcpp17"
  "$root/notebooks/kernel/kernelspec.sh" "$kernel" >"$folder/data/kernels/xcpp17/kernel.json"
}
