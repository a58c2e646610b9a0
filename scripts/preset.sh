# shellcheck shell=bash disable=SC2034  # $preset is for the other scripts
# Which preset to build: LOCKSTEP_PRESET, else cuda where a GPU and a toolkit are found, else sim.

find_nvcc() {
  command -v nvcc && return
  local folder
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda; do
    [[ -n $folder && -x $folder/bin/nvcc ]] && { printf '%s\n' "$folder/bin/nvcc"; return; }
  done
  return 1
}

# Device files first, because nvidia-smi takes a second or more.
has_gpu() { command -v nvidia-smi >/dev/null && { compgen -G '/dev/nvidia[0-9]*' >/dev/null || nvidia-smi -L >/dev/null 2>&1; }; }

choose_preset() {  # sets $preset
  if [[ -n ${LOCKSTEP_PRESET:-} ]]; then preset=$LOCKSTEP_PRESET; elif find_nvcc >/dev/null && has_gpu; then preset=cuda; else preset=sim; fi
}
