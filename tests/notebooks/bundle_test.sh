#!/usr/bin/env bash
# The archive of `./lockstep bundle`, unpacked in another folder: the program trains, and a small C++ program links with the library.
#   bundle_test.sh ROOT PRESET
set -euo pipefail
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
LOCKSTEP_INSTALL=no LOCKSTEP_PRESET=$2 "$root/lockstep" bundle "$folder/bundle.tar.gz" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
mkdir "$folder/else where"
cd "$folder/else where"
tar -xzf "$folder/bundle.tar.gz"
if tar -tzf "$folder/bundle.tar.gz" | grep -qE 'lib(cuda|cudnn|nccl)'; then echo 'NVIDIA'"'"'s libraries are not ours to pack'; exit 1; fi
LOCKSTEP_OFFLINE=1 LOCKSTEP_DATA='' lockstep-bundle/lockstep run mnist --quick | tee log
grep -q 'bit-identical' log
cat >own.cc <<'END'
#include <lockstep/lockstep.h>
int main() { return lockstep::list_gpus().empty() ? 1 : 0; }
END
g++ -std=c++17 -I lockstep-bundle/include own.cc -L lockstep-bundle/lib -llockstep -Wl,-rpath-link,lockstep-bundle/lib -o own
LD_LIBRARY_PATH=lockstep-bundle/lib ./own
[[ -f lockstep-bundle/lessons/README.md && -f lockstep-bundle/notebooks/00-start-here.ipynb ]]
