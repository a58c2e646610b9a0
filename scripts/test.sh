# shellcheck shell=bash disable=SC2154  # $root, $preset and the lists of packages come from ../lockstep, preset.sh and packages.sh
# ./lockstep test: builds, runs the tests and lists the skipped ones.

# Only the test programs of some rooms, with only what they need built.
test_rooms() {  # uses run_tests' presets, rooms and extra
  local one room status=0
  for one in "${presets[@]}"; do
    for room in "${rooms[@]}"; do
      build "$one" "test_$room"
      say "Testing $room of $one ..."
      "$root/build/$one/tests/test_$room" --gtest_brief=1 "${extra[@]}" || status=$?
    done
  done
  return "$status"
}

run_tests() {
  local presets=() rooms=() label='' extra=() status=0 jobs=(-j2) one
  while (($#)); do
    case $1 in
      --preset) [[ $# -gt 1 ]] || die '--preset needs a name: sim, cuda, sim-asan or sim-tsan'; presets=("$2"); shift ;;
      --preset=*) presets=("${1#*=}") ;;
      --room) [[ $# -gt 1 ]] || die '--room needs a folder of tests: gpu, libraries, nccl, ...'; rooms+=("$2"); shift ;;
      -L) [[ $# -gt 1 ]] || die '-L needs a label: unit, conformance, parity, training, ...'; label=$2; shift ;;
      --parity) label=parity; make_parity_pythons ;;
      -j*) jobs=("$1") ;;
      *) extra+=("$1") ;;
    esac
    shift
  done
  [[ -n $label ]] && extra+=(-L "^($label)\$" --no-tests=error)
  packages+=("${test_packages[@]}")
  install_missing
  if ((${#rooms[@]})); then
    ((${#presets[@]})) || presets=(sim)
    test_rooms
    return
  fi
  if [[ ${LOCKSTEP_INSTALL:-} != no && (-z $label || $label == notebooks || $label == parity) ]]; then
    { install_for_notebooks && make_notebook_python "$root/tests/notebooks/requirements.txt"; } || say 'The tests of notebooks are left out.'
  fi
  if ((!${#presets[@]})); then
    presets=(sim)
    [[ -z $label || $label == conformance ]] && build_cuda_too
    choose_preset
    [[ $preset != sim ]] && presets+=("$preset")
  fi
  for one in "${presets[@]}"; do build "$one" all; done
  for one in "${presets[@]}"; do
    say "Testing $one ..."
    rm -f "$root/build/$one/results.xml"
    ctest --test-dir "$root/build/$one" "${jobs[@]}" --output-on-failure --output-junit results.xml "${extra[@]}" || status=$?
    if [[ -f $root/build/$one/results.xml ]]; then python3 "$root/tests/skipped.py" "$root/build/$one" "$root/build/$one/results.xml" parity; fi
  done
  return "$status"
}
