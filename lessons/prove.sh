#!/usr/bin/env bash
# Proves one lesson: the stub fails its tests, the solution passes them, and each wrong answer fails with the words its second line names.
#   prove.sh LOCKSTEP FOLDER
set -euo pipefail
lockstep=$1 folder=$2
name=$(basename "$folder")
number=$((10#${name%%-*}))
failed=0

complain() { printf '%s: %s\n' "$name" "$1"; printf '%s\n' "$output" | sed 's/^/    /'; failed=1; }
try() { status=0; output=$("$lockstep" lesson "$number" --file "$1" 2>&1) || status=$?; }

try "$folder/exercise.h"
((status == 1)) || complain "the stub must compile and fail its tests, but the exit status is $status"
try "$folder/solution.h"
((status == 0)) || complain "the solution must pass, but the exit status is $status"

wrong=0
for file in "$folder"/wrong/*.h; do
  words=$(sed -n '2s|^// Says: ||p' "$file")
  [[ -n $words ]] || { output=$file; complain "the second line of a wrong answer is '// Says: ...'"; continue; }
  try "$file"
  ((status == 1)) || complain "$(basename "$file") must compile and fail, but the exit status is $status"
  [[ $(tr -s ' \n' ' ' <<<"$output") == *"$words"* ]] || complain "$(basename "$file") must say: $words"
  wrong=$((wrong + 1))
done
((wrong >= 3)) || { output=; complain "has $wrong wrong answers; three are wanted"; }
for page in lesson.md hints.md transcript.md; do
  [[ -s $folder/$page ]] || { output=; complain "has no $page"; }
done
((failed)) || echo "$name: the stub fails, the solution passes, $wrong wrong answers are told what is wrong"
exit "$failed"
