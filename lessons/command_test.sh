#!/usr/bin/env bash
# `lockstep lesson` as a learner and a teacher use it: the list, a new file, hints, reset, solution, broken and crashing code, JSON.
#   command_test.sh LOCKSTEP
set -euo pipefail
lockstep=$1
lessons=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
watcher=
trap '[[ -z $watcher ]] || kill "$watcher" 2>/dev/null || true; rm -rf "$work"' EXIT
export LOCKSTEP_LESSON_WORK=$work

failed=0
lesson() { status=0; output=$("$lockstep" lesson "$@" 2>&1) || status=$?; }
expect() {  # status words...
  local wanted=$1 words
  shift
  [[ $status == "$wanted" ]] || { echo "exit status $status instead of $wanted: $output"; failed=1; }
  for words; do [[ $(tr -s ' \n' ' ' <<<"$output") == *"$words"* ]] || { echo "missing in the output: $words"; echo "$output"; failed=1; }; done
}

lesson
expect 0 'Lessons: 0 of' '1 Replicate next' 'then: lockstep lesson 1'
for none in 0 15 77; do
  lesson "$none"
  expect 1 "there is no lesson $none; they go from 1 to 14"
done
lesson --json
expect 1 '--json needs the number of a lesson, or --all'
lesson 1 --hint
expect 0 'Try it once first'
lesson 1
expect 1 "$work/01-replicate.h (new)" 'Predict, then run: 1. Eight replicas get' 'lockstep lesson 1 --predict NUMBER,LETTER' 'FAIL' 'One replica has nothing to do (not reached)' 'Hint 1 of 4:' 'lockstep lesson 1 --hint'
cmp "$work/01-replicate.h" "$lessons/01-replicate/exercise.h"
hints_of() { python3 -c 'import json, sys; print(json.load(sys.stdin)["lessons"][0]["hints"])' <<<"$output"; }
lesson --all --json
[[ $(hints_of) == 0 ]] || { echo "a hint that follows a failure by itself must not count as asked for: $(hints_of)"; failed=1; }
for hint in 2 3 4; do lesson 1 --hint; expect 0 "Hint $hint of 4:"; done
lesson --all --json
[[ $(hints_of) == 3 ]] || { echo "three hints were asked for, but $(hints_of) counted"; failed=1; }
lesson 1 --hint
expect 0 'There are no more hints' 'solution.h'
# Predictions are kept before the run that passes, and shown after it.
[[ $output != *'It is 70'* ]] || { echo 'answers come after the run that passes'; failed=1; }
lesson 1 --predict 40
expect 2 '--predict needs 2 answers with a comma between them, and "40" has 1'
lesson 1 --predict 70,d
expect 2 'question 2 has the answers a, b, c, and "d" is none of them'
lesson 1 --predict 70,c
expect 0 'Your predictions are kept. Now: lockstep lesson 1'
lesson
expect 0 '1 Replicate 0 of 9 tests pass, next'

lesson 1 --solution
expect 0 'cudaStreamWaitEvent'
"$lockstep" lesson 1 --solution >"$work/01-replicate.h"
lesson 1
expect 0 '9 of 9 tests pass' 'You predicted 70. It is 70 (right)' 'You predicted c. It is b (not what you predicted)' 'Well done' 'lockstep lesson 2'
lesson 1 --predict 70,b
expect 1 "lesson 1 has shown its answers, so they can't be predicted any more"
lesson
expect 0 'Lessons: 1 of' '1 Replicate done'

# The last lesson is not the end while others are open, and commands are those that work here.
cp "$lessons/14-first-kernel/solution.h" "$work/14-first-kernel.h"
LOCKSTEP_COMMAND=./lockstep lesson 14
expect 0 'Well done. 12 lessons are open. Next: ./lockstep lesson 2'
rm "$work/14-first-kernel.h"
LOCKSTEP_COMMAND=./lockstep lesson
expect 0 'then: ./lockstep lesson 2'

lesson 1 --reset
expect 0 'your old file is'
cmp "$work/01-replicate.h" "$lessons/01-replicate/exercise.h"
cmp "$work/01-replicate.h.before-reset" "$lessons/01-replicate/solution.h" || { echo 'a reset must keep the old file'; failed=1; }
lesson 1 --reset
expect 0 'is the exercise already'
cmp "$work/01-replicate.h.before-reset" "$lessons/01-replicate/solution.h" || { echo 'a second reset must keep the saved file'; failed=1; }
echo '// another try' >>"$work/01-replicate.h"
lesson 1 --reset
expect 0 'before-reset-2'
cmp "$work/01-replicate.h.before-reset" "$lessons/01-replicate/solution.h" || { echo 'a reset must not overwrite saved work'; failed=1; }
grep -q 'another try' "$work/01-replicate.h.before-reset-2" || { echo 'each reset must keep its old file'; failed=1; }

# A file that is gone is not begun, whatever was done before.
"$lockstep" lesson 2 --solution >"$work/02-shard.h"
lesson 2
expect 0 'Well done'
rm "$work/02-shard.h"
lesson
expect 0 'Lessons: 0 of'
lesson 2 --hint
expect 0 'Try it once first'

# A reader that stops early changes nothing in what is recorded.
cp "$lessons/01-replicate/exercise.h" "$work/01-replicate.h"
{ "$lockstep" lesson 1 || true; } 2>/dev/null | head -n 3 >/dev/null
lesson
expect 0 '1 Replicate 0 of 9 tests pass'

# Only tests that have reported their end count.
sed 's/return true;  \/\/ Your code\./std::exit(0);/; s/\/\/ Your code\./std::exit(0);/' "$lessons/01-replicate/exercise.h" >"$work/leaves.h"
lesson 1 --file "$work/leaves.h"
expect 1 'The program ended in the test "Every replica gets the weights of replica 0" with the exit code 0' 'exit'
[[ $output != *'Well done'* ]] || { echo 'a program that leaves early is not done'; failed=1; }
lesson 1 --file "$work/leaves.h" --json
expect 1 '"state": "crashes"' '"passed": 0' '"tests": 9'

echo '#pragma once
#include "given.h"
namespace lesson { inline int broken( }' >"$work/03-local-gradients.h"
lesson 3
expect 3 'does not compile yet' '03-local-gradients.h:3:'

# A host dereference of GPU memory ends the program; the test it happened in is named.
sed '0,/\/\/ Your code\./s//replicas[0].buffer[0] = 1;/' "$lessons/01-replicate/exercise.h" >"$work/crash.h"
lesson 1 --file "$work/crash.h"
expect 1 'segmentation fault' 'Every replica gets the weights of replica 0' 'device'

"$lockstep" lesson 2 --solution >"$work/02-shard.h"
lesson --all --json
expect 1
python3 - "$output" <<'PYTHON' || failed=1
import json, sys
graded = json.loads(sys.argv[1])
states = {lesson["lesson"]: lesson["state"] for lesson in graded["lessons"]}
assert graded["done"] == 1 and graded["of"] == len(states), graded
assert states[1] == "fails" and states[2] == "done" and states[3] == "does not compile" and states[4] == "not begun", states
first = graded["lessons"][0]
assert first["passed"] == 0 and first["tests"] == 9 and first["failures"][0]["part"] == "Replicate", first
said = [(one["predicted"], one["answer"], one["right"]) for one in first["predictions"]]
assert said == [("70", "70", True), ("c", "b", False)], said
PYTHON

# An endless loop and an endless recursion end with their place; a bad index and a division by zero are caught.
given_body() { python3 - "$lessons/01-replicate/exercise.h" "$work/wrong.h" "$1" <<'PYTHON'
import sys
text = open(sys.argv[1]).read()
open(sys.argv[2], 'w').write(text.replace('  // Your code.\n', sys.argv[3] + '\n', 1))
PYTHON
}
line_of() { grep -n -m1 "$1" "$work/wrong.h" | cut -d: -f1; }
given_body '  for (volatile int i = 0; i == 0;) {}  // endless'
LOCKSTEP_LESSON_SECONDS=2 lesson 1 --file "$work/wrong.h"
expect 1 'still running: Every replica gets' "still running after 2 seconds and was stopped, at your line $(line_of endless)" 'Does a loop in your code ever end?'
LOCKSTEP_LESSON_SECONDS=2 lesson 1 --file "$work/wrong.h" --json
expect 1 '"state": "does not end"'
given_body '  volatile int deep[100] = {};
  if (deep[0] == 0) replicate(replicas);  // recursion
  deep[1] = 1;'
lesson 1 --file "$work/wrong.h"
expect 1 'calls itself without end' "line $(line_of recursion)"
[[ $output != *'outside its vector'* ]] || { echo 'a full stack is not an index'; failed=1; }
given_body '  const std::vector<int> three(3);
  volatile int number = three[replicas.size() + 3];  // index
  (void)number;'
lesson 1 --file "$work/wrong.h"
expect 1 'Assertion' "your line $(line_of index)" 'Every replica gets the weights of replica 0'
given_body '  volatile int big = 2147483647;
  big = big + static_cast<int>(replicas.size());  // overflow'
lesson 1 --file "$work/wrong.h"
expect 1 'signed integer overflow' "your line $(line_of overflow)"

# Lesson 7 runs the learner's own functions of lessons 1 to 6 where those are done, and says so; the solution where one is open.
own=$work/own
mkdir "$own"
python3 - "$lessons" "$own" <<'PYTHON'
import json, pathlib, re, sys
lessons, own = map(pathlib.Path, sys.argv[1:])
begins = ['replicate(const', 'send_shards(const', 'local_gradients(const', 'ring_all_reduce(const', 'update_all(const', 'wait_for_all(const']
done = {}
for number, begin in enumerate(begins, 1):
    folder, = lessons.glob(f'0{number}-*')
    text = (folder / 'solution.h').read_text()
    place = text.index('{\n', text.index(f'inline void {begin}')) + 2
    says = f'  static bool said = false;\n  if (!said) std::fputs("own {number}\\n", stderr);\n  said = true;\n'
    (own / f'{folder.name}.h').write_text(text[:place] + says + text[place:])
    done[folder.name] = {'done': True}
(own / 'progress.json').write_text(json.dumps(done))
PYTHON
lesson 7 --file "$lessons/07-whole-step/solution.h" --work "$own"
expect 0 'yours: ' 'own 1' 'own 2' 'own 3' 'own 4' 'own 5' 'own 6' '9 of 9 tests pass' 'ok Equals the engine' 'of 200 digits that it has not seen' 'One of them, a'
[[ $(grep -c 'yours: ' <<<"$output") == 6 && $output != *'given: '* ]] || { echo "all six are the learner's own: $output"; failed=1; }
rm "$own/04-all-reduce.h"
sed -i 's/"01-replicate": {/&"text": 1, /' "$own/progress.json"
lesson 7 --file "$lessons/07-whole-step/solution.h" --work "$own" --json
expect 0 '"1": "given"' '"2": "own"' '"4": "given"' '"5": "own"' '"state": "done"'
lesson 7 --file "$work/03-local-gradients.h" --work "$own"
expect 3 '1 Replicate given: your file has changed since it passed' '4 All-reduce given: lesson 4 is open' '5 Update yours: '

# What check mode says, in the words of the lesson.
race() { python3 - "$lessons/01-replicate/solution.h" "$work/wrong.h" "$1" <<'PYTHON'
import sys
text = open(sys.argv[1]).read()
for line in sys.argv[3].split('|'):
    old, _, new = line.partition('=>')
    assert text.count(old) == 1, old
    text = text.replace(old, new)
open(sys.argv[2], 'w').write(text)
PYTHON
}
race '    CHECK_CUDA(cudaStreamWaitEvent(replica.stream, source.ready, 0));=>'
lesson 1 --file "$work/wrong.h"
expect 1 "'s stream (your line $(line_of PeerAsync)) reads it" "writes replica 0's buffer" '[ copy reads ]' 'before '"'copy' (your line $(line_of PeerAsync))"
[[ $output != *'was issued by'* ]] || { echo 'stacks are for --verbose'; failed=1; }
lesson 1 --file "$work/wrong.h" --verbose
expect 1 'was issued by cudaMemcpyPeerAsync in'
race '    CHECK_CUDA(cudaStreamWaitEvent(source.stream, replica.ready, 0));=>'
lesson 1 --file "$work/wrong.h"
expect 1 "then 'the next step' on replica 0's stream (the lesson's own) writes it" 'before your function returns'
race '  CHECK_CUDA(cudaEventRecord(source.ready, source.stream));  // the weights are written=>'
lesson 1 --file "$work/wrong.h"
expect 1 "The wait at your line $(line_of 'StreamWaitEvent(replica') does nothing: its event was never recorded"
race 'CHECK_CUDA(cudaEventRecord(replica.ready, replica.stream))=>cudaEventRecord(source.ready, replica.stream)'
lesson 1 --file "$work/wrong.h"
expect 1 "At your line $(line_of 'EventRecord(source.ready, replica') cudaEventRecord failed" 'The event belongs to GPU 0 and the stream to GPU 1' 'does not look at what the call returns'

# CUDA's default arguments work too.
race 'cudaStreamWaitEvent(replica.stream, source.ready, 0)=>cudaStreamWaitEvent(replica.stream, source.ready)'
lesson 1 --file "$work/wrong.h"
expect 0 '9 of 9 tests pass'

# Watching: the file is tried at once, and again when it was saved.
lesson 4 --reset
"$lockstep" lesson 4 --watch >"$work/watched" 2>&1 &
watcher=$!
seen() {
  for _ in $(seq 600); do
    (($(grep -c 'save it to try again' "$work/watched" || true) >= $1)) && return
    sleep 0.2
  done
  echo '--watch does not run the tests again:'; cat "$work/watched"; failed=1
}
seen 1
"$lockstep" lesson 4 --solution >"$work/04-all-reduce.h.new" && mv "$work/04-all-reduce.h.new" "$work/04-all-reduce.h"
seen 2
grep -q 'Well done' "$work/watched" || { cat "$work/watched"; failed=1; }
kill "$watcher"
wait "$watcher" 2>/dev/null || true
watcher=
exit "$failed"
