#!/usr/bin/env bash
# Several workers are one training run: they get the same weights as one process with as many GPUs, and when one ends, all end before the deadline
# and name it. workers_test.sh PROGRAM same-weights | mpirun | killed | restarted | stopped. 77: not possible here.
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

# One process with two GPUs: prints means of the epochs and the checksums of both replicas.
one_process() { "$program" "${train[@]}" --gpus 2 --all-reduce nccl >"$folder/one.log" 2>"$folder/one-errors.log"; }
epochs() { grep '"epoch"' "$1"; }

compare() { # log
  [[ $(checksum "$folder/one.log") == "$(checksum "$1")" ]] || fail "other weights: $(checksum "$folder/one.log") and $(checksum "$1")"
  [[ $(epochs "$folder/one.log") == "$(epochs "$1")" ]] || fail "other means: $(epochs "$folder/one.log") and $(epochs "$1")"
  [[ $(checksum "$1") == *'", "'* ]] || fail 'there should be two replicas'
}

# A worker's process id.
worker() { # number
  local pid
  for pid in $(pgrep -P "$launcher" || true); do
    if grep -qz "^LOCKSTEP_WORKER=$1\$" "/proc/$pid/environ" 2>/dev/null; then
      echo "$pid"
      return
    fi
  done
  return 1
}

# The same, once the worker has used some processor time.
busy_worker() { # number
  local pid ticks
  for ((try = 0; try < 300; ++try)); do
    pid=$(worker "$1" || true)
    ticks=$(cut -d' ' -f14 "/proc/${pid:-none}/stat" 2>/dev/null || echo 0)
    if ((ticks > 250)); then
      echo "$pid"
      return
    fi
    sleep 0.2
  done
  return 1
}

start() { # arguments
  "$program" "$@" --workers 2 >"$folder/run.log" 2>"$folder/run-errors.log" &
  launcher=$!
}
start_long_run() { start run mnist --epochs 1000 --json; }

# What the newest backup holds: the name of its weights tells epoch and batch.
newest_backup() { grep -o 'backup-[0-9]*-[0-9]*' "$folder/backup/training.json" 2>/dev/null || true; }

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
    ! mpirun "${as_root[@]}" --oversubscribe -n 1 "$program" "${train[@]}" : -n 1 "$program" "${train[@]}" --epochs 2 \
      >"$folder/other.log" 2>"$folder/other-errors.log" || fail 'workers with other options ended as if nothing had happened'
    grep -q "Worker 1 does not run what worker 0 runs: its --epochs is 2, worker 0's is not given" "$folder/other-errors.log" ||
      fail 'what differs is not named'
    ;;
  killed)
    start_long_run
    victim=$(busy_worker 1) || fail 'worker 1 never worked'
    kill -KILL "$victim"
    ends_within 60
    grep -q 'worker 0\] .*rank 1' "$folder/run-errors.log" || fail 'worker 0 does not name rank 1'
    ;;
  restarted)
    # 47 batches with a backup after every fifth; killed between backups, or while one is written.
    train=(run mnist --quick --json --batch-per-replica 64 --seed 3)
    one_process
    with_backup=("${train[@]}" --backup "$folder/backup" --backup-batches 5)
    start "${with_backup[@]}"
    for ((try = 0; try < 3000; ++try)); do
      [[ $(newest_backup) != backup-0-[1-9]? ]] || break
      sleep 0.02
    done
    kill -KILL "$(worker 1)" || fail 'worker 1 was not there'
    ends_within 60
    grep -q 'worker 0\] .*rank 1' "$folder/run-errors.log" || fail 'worker 0 does not name rank 1'
    [[ $(newest_backup) == backup-0-[1-3]? ]] || fail "killed too late or too early: $(newest_backup)"
    "$program" "${with_backup[@]}" --workers 2 >"$folder/again.log" 2>"$folder/again-errors.log" || fail 'the restart'
    grep -q '"resumed": {"epoch": 1, "batch": [1-3][16]' "$folder/again.log" || fail 'the restart did not continue from the backup'
    [[ $(checksum "$folder/one.log") == "$(checksum "$folder/again.log")" ]] ||
      fail "other weights: $(checksum "$folder/one.log") and $(checksum "$folder/again.log")"
    [[ ! -e $folder/backup ]] || fail 'the backup was not removed at the end'
    ;;
  stopped)
    export LOCKSTEP_DEADLINE=6
    start_long_run
    victim=$(busy_worker 1) || fail 'worker 1 never worked'
    kill -STOP "$victim"
    ends_within 90
    grep -q 'worker 0\] .*LOCKSTEP_DEADLINE' "$folder/run-errors.log" || fail 'the deadline is not named'
    ;;
esac
echo passed
