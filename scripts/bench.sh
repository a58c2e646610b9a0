# shellcheck shell=bash disable=SC2154  # $root comes from ../lockstep
# ./lockstep bench: builds and runs the benchmarks, all on the virtual GPU.

# Other frameworks, of fixed versions, in an environment of their own; some 3 GB in build/peers-venv.
compare_with_peers() {
  make_python peers 'TensorFlow and PyTorch' "$root/bench/peers/requirements.txt" || die 'could not make it (python3-venv and a network are needed)'
  build sim workload
  "$root/build/peers-venv/bin/python" "$root/bench/peers/peers.py" "$root/build/sim/bench/workload" "$@"
}

# What a step costs TensorFlow's host, for the model clock; printed, and kept where a file is given.
measure_host_costs() {  # [file]
  make_python peers 'TensorFlow and PyTorch' "$root/bench/peers/requirements.txt" || die 'could not make it (python3-venv and a network are needed)'
  "$root/build/peers-venv/bin/python" "$root/bench/peers/host_costs.py" ${1:+--json "$1"}
}

# What runs PTX needs the compiler that makes it.
need_nvcc_for() {
  [[ $1 == @(warps|ptx_bench) ]] || return 0
  find_nvcc >/dev/null || die "./lockstep bench ${2} runs what nvcc makes of the kernels, and there is no nvcc here: install a CUDA toolkit (its compiler is enough)"
}

list_benchmarks() {
  local name
  say 'Benchmarks (each prints ratios of one run, and beside them that the results are right):'
  for name in "$root"/bench/*_bench.cc; do
    printf '  %-14s %s\n' "$(basename "${name%_bench.cc}")" "$(sed -n '1s,^// *,,p' "$name")"
  done
}

run_benchmarks() {
  local folder=$root/build/sim/bench names=() options=() name tool
  case ${1:-} in
    --peers) shift; compare_with_peers "$@"; return ;;
    --host-costs) shift; measure_host_costs "$@"; return ;;
    --profile | --warps | --gpu)
      tool=${1#--}
      shift
      need_nvcc_for "$tool" "--$tool"
      install_missing
      build sim "$tool"
      "$folder/$tool" "$@"
      return
      ;;
    --scaling)
      install_missing
      build sim scaling
      "$folder/scaling" | tee "$root/build/scaling.csv" | python3 "$root/bench/plot_scaling.py" "${2:-$root/build/scaling.svg}"
      return
      ;;
  esac
  for name in "$@"; do if [[ $name == -* ]]; then options+=("$name"); else names+=("${name%_bench}_bench"); fi; done
  ((${#names[@]})) || { list_benchmarks; return; }
  install_missing
  for name in "${names[@]}"; do
    [[ -f $root/bench/$name.cc ]] || die "there is no benchmark ${name%_bench}; ./lockstep bench lists them"
    need_nvcc_for "$name" "${name%_bench}"
    build sim "$name"
    "$folder/$name" "${options[@]}"
  done
}
