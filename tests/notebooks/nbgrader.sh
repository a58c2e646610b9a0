#!/usr/bin/env bash
# nbgrader's own commands with one notebook: release, fetch, submit, collect, autograde. Alice hands in the solution, Bob what he was given.
#   nbgrader.sh KERNEL NOTEBOOK
# In the Python that `./lockstep test --parity` made for it. Each check is worth a point: Alice gets all of them, Bob fewer.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/jupyter.sh"
notebook=$(readlink -f "$2")
use_jupyter "$1" nbgrader "${LOCKSTEP_NBGRADER_PYTHON:-}" './lockstep test --parity' nbgrader
export JUPYTER_PATH=$folder/data PATH=$(dirname "$python"):$PATH LOCKSTEP_OFFLINE=1
mkdir -p "$folder/course/source/lesson" "$folder/exchange" "$folder/students" "$folder/config"
chmod 777 "$folder/exchange"
cp "$notebook" "$folder/course/source/lesson/"
cat >"$folder/config/nbgrader_config.py" <<END
c = get_config()
c.CourseDirectory.course_id = "mirrored"
c.CourseDirectory.root = "$folder/course"
c.Exchange.root = "$folder/exchange"
c.ExecutePreprocessor.timeout = 900
c.ClearSolutions.begin_solution_delimeter = "/// BEGIN SOLUTION"
c.ClearSolutions.end_solution_delimeter = "/// END SOLUTION"
c.ClearSolutions.code_stub = {"C++17": "throw Error(\"to be written\");"}
END
cp "$folder/config/nbgrader_config.py" "$folder/course/"
# `nbgrader NAME ...` is quiet unless it fails.
run() { nbgrader "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; echo "nbgrader $1 failed"; exit 1; }; }
cd "$folder/course"
run generate_assignment lesson --create
run release_assignment lesson
for student in alice bob; do
  mkdir "$folder/students/$student"
  cd "$folder/students/$student"
  run fetch_assignment lesson
  # Nothing of the solution may be in what students get.
  if grep -q 'BEGIN SOLUTION' "lesson/$(basename "$notebook")"; then echo 'the solution is in the released notebook'; exit 1; fi
  if [[ $student == alice ]]; then "$python" "$root/tests/notebooks/nbgrader_marks.py" hand_in "$notebook" "lesson/$(basename "$notebook")"; fi
done
cd "$folder/students/alice"
run submit lesson
cd "$folder/course"
run collect lesson
# One machine has one user name, under which the exchange collected Alice's; Bob's is put where the exchange would have put it.
me=$(ls submitted)
[[ -n $me ]] || { echo 'nothing was collected'; exit 1; }
mkdir submitted/bob
cp -r "$folder/students/bob/lesson" submitted/bob/lesson
run autograde lesson
run export --to "$folder/grades.csv"
"$python" "$root/tests/notebooks/nbgrader_marks.py" marks "$folder/grades.csv" "$me" bob
