# shellcheck shell=bash disable=SC2154  # $root comes from ../lockstep
# Python environments of fixed versions, made on demand in build/.

# An environment in build/NAME-venv with what REQUIREMENTS lists. Several lists may share one. WHAT names it in the message.
make_python() {  # name what requirements
  local folder=$root/build/$1-venv log=$root/build/$1-venv.log stamp
  stamp=$folder/.has-$(basename "$(dirname "$3")")-$(cksum <"$3" | cut -d ' ' -f 1)
  [[ -f $stamp ]] && return
  say "Making a Python environment with $2 ..."
  mkdir -p "$root/build"
  if ! { { [[ -x $folder/bin/pip ]] || python3 -m venv "$folder"; } && "$folder/bin/pip" install -q -r "$3" && touch "$stamp"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    return 1
  fi
}

# Jupyter, of notebooks/ or tests/notebooks/.
make_notebook_python() { make_python notebook Jupyter "$1"; }  # requirements

# NVRTC, which compiles kernels while a program runs (engine/include/lockstep/cuda_kernel.h). ../lockstep tells programs where it is.
install_nvrtc() {
  make_python nvrtc NVRTC "$root/engine/nvrtc/requirements.txt" || die 'could not install it (python3-venv and a network are needed)'
  say "NVRTC is in $root/build/nvrtc-venv; ./lockstep sets LOCKSTEP_NVRTC to it."
}

# What `./lockstep test --parity` compares with: TensorFlow and Keras (some 2 GB) of the versions that all recordings were made with, Cling (some
# 100 MB) and nbgrader. Without one of the last two its test is skipped.
make_parity_pythons() {
  if [[ -n ${LOCKSTEP_PARITY_PYTHON:-} && $LOCKSTEP_PARITY_PYTHON != "$root/build/parity-venv/bin/python" ]]; then
    "$LOCKSTEP_PARITY_PYTHON" -c 'import keras' >/dev/null 2>&1 || die "LOCKSTEP_PARITY_PYTHON ($LOCKSTEP_PARITY_PYTHON) has no Keras"
  else
    export LOCKSTEP_PARITY_PYTHON=$root/build/parity-venv/bin/python
    make_python parity 'TensorFlow and Keras' "$root/tests/parity/requirements.txt" || die 'could not make it (python3-venv and a network are needed)'
  fi
  if [[ -x $root/tests/parity/wheels.sh ]]; then "$root/tests/parity/wheels.sh"; fi
  make_python cling Cling "$root/tests/notebooks/cling-requirements.txt" || say "No Cling: see $root/build/cling-venv.log"
  make_python nbgrader nbgrader "$root/tests/notebooks/nbgrader-requirements.txt" || say "No nbgrader: see $root/build/nbgrader-venv.log"
}
