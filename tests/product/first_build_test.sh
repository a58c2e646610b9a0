#!/usr/bin/env bash
# The first build that `./lockstep run` makes compiles the sources of a folder together. All other builds compile each by itself, so only this test
# sees whether the united files compile, link and give the same program.
#
#   first_build_test.sh PROGRAM FOLDER    PROGRAM is the ordinary one; FOLDER keeps the build
set -euo pipefail
program=$1 folder=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --preset sim -B "$folder" -DLOCKSTEP_UNITY=ON >"$folder.log" 2>&1 || { tail -n 30 "$folder.log"; exit 1; }
ninja -C "$folder" lockstep >"$folder.log" 2>&1 || { grep -E 'error|FAILED|undefined' "$folder.log" | head -n 20; exit 1; }
united=$(find "$folder" -path '*/unity/*.cc' | wc -l)
echo "$united united files"
((united > 20))
for words in '--version' 'project mnist --nodes 1,2'; do
  # shellcheck disable=SC2086  # several words
  diff <("$program" $words) <("$folder/cli/lockstep" $words) || { echo "lockstep $words differs"; exit 1; }
done
