#!/usr/bin/env bash
# package_test.sh BUILD: installs that build into a new folder, moves it, and builds and runs examples/package against it from outside the tree.
set -euo pipefail
build=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --prefix "$folder/first" >"$folder/install.log"
mv "$folder/first" "$folder/installed" # nothing in it may remember where it was
cp -r "$root/examples/package" "$folder/example"
cmake -S "$folder/example" -B "$folder/example/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$folder/installed" >"$folder/configure.log"
cmake --build "$folder/example/build"
"$folder/example/build/mirrored_lines"
"$folder/installed/bin/lockstep" --version
"$folder/installed/bin/lockstep" devices | head -n 1
