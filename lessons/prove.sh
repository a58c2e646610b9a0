#!/usr/bin/env bash
# Proves one lesson: the stub fails its tests, the solution passes them, and each wrong answer (the solution with a patch applied) fails with the words
# that the patch's second line names.
#   prove.sh LOCKSTEP FOLDER
set -euo pipefail
lockstep=$1 folder=$2
name=$(basename "$folder")
number=$((10#${name%%-*}))
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

complain() { printf '%s: %s\n' "$name" "$1"; printf '%s\n' "$output" | sed 's/^/    /'; failed=1; }
try() { status=0; output=$("$lockstep" lesson "$number" --file "$1" 2>&1) || status=$?; }

try "$folder/exercise.h"
((status == 1)) || complain "the stub must compile and fail its tests, but the exit status is $status"
try "$folder/solution.h"
((status == 0)) || complain "the solution must pass, but the exit status is $status"

wrong=0
for patch in "$folder"/wrong/*.patch; do
  mistake=$(basename "$patch" .patch)
  words=$(sed -n '2s|^Says: ||p' "$patch")
  [[ -n $words ]] || { output=$patch; complain "the second line of a wrong answer is 'Says: ...'"; continue; }
  output=$(python3 "$(dirname "$0")/wrong_answer.py" "$folder/solution.h" "$patch" 2>&1 >"$work/$mistake.h") || { complain "$mistake.patch"; continue; }
  try "$work/$mistake.h"
  ((status == 1)) || complain "$mistake must compile and fail, but the exit status is $status"
  [[ $(tr -s ' \n' ' ' <<<"$output") == *"$words"* ]] || complain "$mistake must say: $words"
  wrong=$((wrong + 1))
done
((wrong >= 3)) || { output=; complain "has $wrong wrong answers; three are wanted"; }
for page in lesson.md hints.md transcript.md; do
  [[ -s $folder/$page ]] || { output=; complain "has no $page"; }
done
((failed)) || echo "$name: the stub fails, the solution passes, $wrong wrong answers are told what is wrong"
exit "$failed"
