#!/usr/bin/env bash
# shellcheck disable=SC2016  # the stand-ins expand their own variables
# ./lockstep in a tree of stand-ins for its tools: what it builds and when, which preset it picks, which arguments it passes on, what it prints.
set -euo pipefail
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/lockstep
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
terminal=$(command -v script || true)
mkdir -p "$tree"/{bin,cmake,cli,common,engine/nn,simulator}
chmod 755 "$tree"
cp "$script" "$tree/lockstep"
cp -r "${script%/*}/scripts" "$tree/scripts"
touch -d '1 hour ago' "$tree"/{CMakeLists.txt,CMakePresets.json,engine/nn/layer.cc,scripts/*.sh} "$tree"/{cmake,cli,common,engine,engine/nn,simulator}

stand_in() { printf '#!/bin/bash\n%s\n' "$2" >"$tree/bin/$1" && chmod 755 "$tree/bin/$1"; }
# Configuring makes build.ninja; building makes a program that prints its arguments, one in each line.
stand_in cmake 'echo "cmake $*" >>"$LOG"; mkdir -p "build/$2" && touch "build/$2/build.ninja"'
stand_in ninja 'echo "ninja $3" >>"$LOG"; mkdir -p "$2/cli"; printf "#!/bin/bash\nprintf \"%%s\\\\n\" \"${2##*/}\" \"\$@\"\n" >"$2/cli/lockstep"; chmod +x "$2/cli/lockstep"
echo "[1/2] one"; echo "a warning"; echo "[2/2] two"'
stand_in ctest 'echo "ctest ${*:3}" >>"$LOG"; touch "$2/results.xml"; exit ${CTEST_STATUS:-0}'
stand_in python3 'echo "skipped: ${*:3}" >&2'  # tests/skipped.py; it also makes environments
stand_in dpkg-query 'for p in $(printf "%s\n" "${@:4}" | sort -u); do [[ $p == "${MISSING:-}" ]] || printf "ii %s " "$p"; done'
stand_in apt-get 'echo "apt-get $*" >>"$LOG"'

export LOG=$tree/log
unset LOCKSTEP_PRESET LOCKSTEP_INSTALL CUDA_HOME CUDA_PATH
for tool in bash env cat find sleep setpriv grep head mkdir mktemp mv printf readlink dirname rm sed sort tail touch chmod; do
  if command -v $tool >/dev/null; then ln -s "$(command -v $tool)" "$tree/bin/$tool"; fi
done
export PATH=$tree/bin

failures=0
expect() {  # what, wanted, got
  if [[ $2 == "$3" ]]; then echo "ok: $1"; else
    failures=$((failures + 1))
    printf 'FAILED: %s\n  wanted: %q\n  got:    %q\n' "$1" "$2" "$3"
  fi
}
lockstep() { : >"$LOG"; "$tree/lockstep" "$@" 2>"$tree/stderr" </dev/null; }
# This machine may have a toolkit in /usr/local/cuda, so tests that depend on the preset ask for sim.
sim() { LOCKSTEP_PRESET=sim lockstep "$@"; }

expect 'the first run configures, builds and passes on every argument' $'sim\nrun\nmnist\n--title\ntwo words' "$(sim run mnist --title 'two words')"
expect 'it built just the program' $'cmake --preset sim\nninja lockstep' "$(cat "$LOG")"
sim run mnist >"$tree/out"
expect 'a second run builds nothing' '' "$(cat "$LOG")"
expect 'and prints nothing' '' "$(cat "$tree/stderr")"
touch "$tree/engine/nn/layer.cc"
sim run mnist >"$tree/out"
expect 'a changed source is built' 'ninja lockstep' "$(cat "$LOG")"
sleep 0.05
touch "$tree/engine/nn/new.cc"
sim run mnist >"$tree/out"
expect 'so is a new one' 'ninja lockstep' "$(cat "$LOG")"
sleep 0.05
rm "$tree/engine/nn/new.cc"
sim run mnist >"$tree/out"
expect 'and a deleted one' 'ninja lockstep' "$(cat "$LOG")"
for changed in common/sha256.cc simulator/clock.cc cli/main.cc cmake/x.cmake scripts/build.sh; do
  sleep 0.05
  touch "$tree/$changed"
  sim run mnist >"$tree/out"
  expect "a change of $changed is built" 'ninja lockstep' "$(cat "$LOG")"
done
sleep 0.05
touch "$tree/scripts/bench.sh"
sim run mnist >"$tree/out"
expect 'a script that builds nothing is not' '' "$(cat "$LOG")"
expect 'a compiler warning is shown, not each step' $'  1 of 2\na warning\n  2 of 2' "$(sim build 2>/dev/null)"

stand_in nvcc 'true'
expect 'a toolkit without a GPU is not enough' sim "$(lockstep run | head -n 1)"
stand_in nvidia-smi 'true'
expect 'a GPU and a toolkit choose cuda' cuda "$(lockstep run | head -n 1)"
stand_in nvidia-smi 'exit 9'
if ! compgen -G '/dev/nvidia[0-9]*' >/dev/null; then
  expect 'a driver that finds no GPU does not' sim "$(lockstep run | head -n 1)"
fi

mkdir -p "$tree/lessons/support"
touch -d '1 hour ago' "$tree/lessons/CMakeLists.txt" "$tree/lessons/support"
expect 'lessons run on the virtual GPU, whatever else is there' $'sim\nlesson\n4' "$(LOCKSTEP_PRESET=cuda lockstep lesson 4)"
expect 'and bring what they need' 'ninja lessons' "$(cat "$LOG")"
lockstep lesson 4 --hint >"$tree/out"
expect 'once' '' "$(cat "$LOG")$(cat "$tree/stderr")"

lockstep test -R Ring >"$tree/out"
expect 'test builds all of cuda and sim, then runs sim' $'ninja all\nninja all\nctest -j2 --output-on-failure --output-junit results.xml -R Ring' "$(cat "$LOG")"
expect 'and tells which tests were skipped' "skipped: $tree/build/sim/results.xml parity" "$(grep results "$tree/stderr")"
lockstep test -L unit >"$tree/out"
expect 'a label alone is run without building cuda' $'ninja all\nctest -j2 --output-on-failure --output-junit results.xml -L ^(unit)$ --no-tests=error' "$(cat "$LOG")"
lockstep test --preset sim-asan >"$tree/out"
expect 'a preset alone is built and run' $'cmake --preset sim-asan\nninja all\nctest -j2 --output-on-failure --output-junit results.xml' "$(cat "$LOG")"
CTEST_STATUS=8 lockstep test -L unit >"$tree/out" && status=0 || status=$?
expect 'a failing test fails the command' 8 "$status"

if ((EUID == 0)); then
  MISSING=libfmt-dev lockstep test -L unit >"$tree/out"
  expect 'what is missing is installed, and only that' 'apt-get install -qy --no-install-recommends libfmt-dev' "$(grep 'apt-get install' "$LOG")"
  MISSING=libfmt-dev LOCKSTEP_INSTALL=no lockstep test -L unit >"$tree/out"
  expect 'unless told not to' '' "$(grep 'apt-get' "$LOG" || true)"
fi
if ((EUID == 0)) && [[ -n $terminal ]]; then
  : >"$LOG"
  export MISSING=libfmt-dev SHELL=$tree/bin/bash
  said=$(printf 'n\n' | "$terminal" -qec "$tree/lockstep test -L unit" /dev/null) && status=0 || status=$?
  expect 'on a terminal it asks, and no is no' '1 yes' "$status $([[ $said == *'libfmt-dev'*'Install them now?'*'nothing installed'* ]] && echo yes)"
  expect 'then nothing is installed or built' '' "$(cat "$LOG")"
  printf '\n' | "$terminal" -qec "$tree/lockstep test -L unit" /dev/null >"$tree/out"
  expect 'Enter is yes' 'apt-get install -qy --no-install-recommends libfmt-dev' "$(grep 'apt-get install' "$LOG")"
  unset MISSING
fi
if ((EUID == 0)) && command -v setpriv >/dev/null; then
  chmod 777 "$tree" "$LOG"
  said=$(MISSING=libfmt-dev setpriv --reuid 65534 --clear-groups "$tree/lockstep" test -L unit 2>&1 </dev/null) && status=0 || status=$?
  expect 'without root and sudo it says what to install' '1 yes' "$status $([[ $said == *'please run: apt-get install libfmt-dev'* ]] && echo yes)"
fi
MISSING=libfmt-dev LOCKSTEP_INSTALL=no sim build >"$tree/out"
sim build >"$tree/out"
expect 'packages that were added are looked for again' $'cmake --preset sim\nninja all' "$(cat "$LOG")"
sim build >"$tree/out"
expect 'once' 'ninja all' "$(cat "$LOG")"
stand_in cmake 'echo "CMake Error: Could NOT find fmt"; exit 1'
sim build >"$tree/out" && status=0 || status=$?
expect 'configured already: nothing is configured again' 0 "$status"
LOCKSTEP_PRESET=sim-tsan lockstep build >"$tree/out" && status=0 || status=$?
expect 'a failing configure fails' 1 "$status"
expect 'and shows why' 'CMake Error: Could NOT find fmt' "$(grep 'Could NOT' "$tree/stderr")"

stand_in ninja 'echo "error: no"; exit 3'
lockstep test >"$tree/out" && status=0 || status=$?
expect 'a build that fails fails the tests, and none is run' '3 ' "$status $(cat "$LOG")"
expect 'the output of the compiler is shown' 'error: no' "$(cat "$tree/out")"
sleep 0.05
touch "$tree/engine/nn/layer.cc"
for attempt in first second; do
  sim run mnist >"$tree/out" && status=0 || status=$?
  expect "the old program does not run in place of the one that fails to build ($attempt try)" '3 ' "$status $(cat "$tree/out")"
done

((failures == 0)) || { echo "$failures failed"; exit 1; }
