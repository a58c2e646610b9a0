#!/usr/bin/env bash
# Several workers are one training run: the same weights as one process with as many GPUs, and the end of one is the end of all, in time and by
# name. workers_test.sh PROGRAM same-weights | mpirun | killed | stopped. 77: not possible here.
set -euo pipefail
program=$1
folder=$(mktemp -d)
launcher=
cleanup() {
  [[ -z $launcher ]] || kill -KILL "$launcher" 2>/dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT
export LOCKSTEP_SIM_WORKERS=1

fail() {
  echo "FAILED: $*" >&2
  tail -n 20 "$folder"/*.log >&2 || true
  exit 1
}

train=(run mnist --quick --json --batch-per-replica 256 --seed 3)
checksum() { grep -o '"checksums": \[[^]]*\]' "$1"; }

# Words of one process with two GPUs: epochs' means and the checksums of both replicas.
one_process() { "$program" "${train[@]}" --gpus 2 --all-reduce nccl >"$folder/one.log" 2>"$folder/one-errors.log"; }
epochs() { grep '"epoch"' "$1"; }

compare() { # log
  [[ $(checksum "$folder/one.log") == "$(checksum "$1")" ]] || fail "other weights: $(checksum "$folder/one.log") and $(checksum "$1")"
  [[ $(epochs "$folder/one.log") == "$(epochs "$1")" ]] || fail "other means: $(epochs "$folder/one.log") and $(epochs "$1")"
  [[ $(checksum "$1") == *'", "'* ]] || fail 'there should be two replicas'
}

# The process id of a worker that has been busy for a while.
busy_worker() { # number
  local pid ticks
  for ((try = 0; try < 300; ++try)); do
    for pid in $(pgrep -P "$launcher" || true); do
      grep -qz "^LOCKSTEP_WORKER=$1\$" "/proc/$pid/environ" 2>/dev/null || continue
      ticks=$(cut -d' ' -f14 "/proc/$pid/stat" 2>/dev/null || echo 0)
      if ((ticks > 250)); then
        echo "$pid"
        return
      fi
    done
    sleep 0.2
  done
  return 1
}

start_long_run() {
  "$program" run mnist --workers 2 --epochs 1000 --json >"$folder/run.log" 2>"$folder/run-errors.log" &
  launcher=$!
}

# The launcher's code; no more than so many seconds later.
ends_within() { # seconds
  local code=0
  for ((try = 0; try < 10 * $1; ++try)); do
    kill -0 "$launcher" 2>/dev/null || break
    sleep 0.1
  done
  kill -0 "$launcher" 2>/dev/null && fail "still running after $1 seconds"
  wait "$launcher" || code=$?
  launcher=
  ((code != 0)) || fail 'ended as if nothing had happened'
}

case $2 in
  same-weights)
    one_process
    "$program" "${train[@]}" --workers 2 >"$folder/two.log" 2>"$folder/two-errors.log" || fail 'workers'
    compare "$folder/two.log"
    ;;
  mpirun)
    command -v mpirun >/dev/null || exit 77
    [[ -e $(dirname "$program")/../lib/liblockstep_mpi.so ]] || exit 77
    one_process
    as_root=()
    ((EUID)) || as_root=(--allow-run-as-root)
    mpirun "${as_root[@]}" --oversubscribe -n 2 "$program" "${train[@]}" >"$folder/two.log" 2>"$folder/two-errors.log" || fail 'mpirun'
    compare "$folder/two.log"
    ;;
  killed)
    start_long_run
    victim=$(busy_worker 1) || fail 'worker 1 never worked'
    kill -KILL "$victim"
    ends_within 60
    grep -q 'worker 0\] .*rank 1' "$folder/run-errors.log" || fail 'worker 0 does not name rank 1'
    ;;
  stopped)
    export LOCKSTEP_DEADLINE=15
    start_long_run
    victim=$(busy_worker 1) || fail 'worker 1 never worked'
    kill -STOP "$victim"
    ends_within 90
    grep -q 'worker 0\] .*LOCKSTEP_DEADLINE' "$folder/run-errors.log" || fail 'the deadline is not named'
    ;;
esac
echo passed
