# shellcheck shell=bash disable=SC2154  # $root and $preset come from ../lockstep and preset.sh
# Runs the program; builds it first where a source is newer.

run_program() {
  choose_preset
  if is_stale "$preset" lockstep; then
    use packages
    install_missing
    LOCKSTEP_UNITY=ON build "$preset" lockstep >&2  # for a first build; a configured one stays as it is
  fi
  exec "$root/build/$preset/cli/lockstep" "$@"
}

# Lessons and exams run on the virtual GPU, also where there is a real one.
run_lesson() {
  if is_stale sim lessons "$root"/lessons/{support,CMakeLists.txt}; then
    use packages
    install_missing
    build sim lessons >&2
  fi
  export LOCKSTEP_COMMAND=${LOCKSTEP_COMMAND:-$0}
  exec "$root/build/sim/cli/lockstep" "$@"
}

# Programs of nvcc run on the virtual GPU, also where there is a real one.
run_exec() {
  if is_stale sim lockstep_exec; then
    use packages
    install_missing
    build sim lockstep_exec >&2
  fi
  exec "$root/build/sim/cli/lockstep" "$@"
}
