#!/usr/bin/env bash
# A test of notebooks, in the Python that `./lockstep test` made for it, with the kernel of this build.
#   run.sh KERNEL PROGRAM ...
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/jupyter.sh"
use_jupyter "$1" notebook "${LOCKSTEP_NOTEBOOK_PYTHON:-}" './lockstep test' 'nbclient, jupyter_kernel_test'
shift
# The Python notebook looks for the project in the folders above it, and uses this build.
export LOCKSTEP_BUILD=$(cd "$(dirname "$kernel")/.." && pwd) LOCKSTEP_NOTEBOOK_FOLDER=$root/build
"$python" "$@"
