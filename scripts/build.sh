# shellcheck shell=bash disable=SC2154  # $root comes from ../lockstep
# Configures and builds a preset in build/PRESET, and decides whether that is needed.

# A terminal gets Ninja's own progress line; a log gets one line for each tenth, and everything the compiler prints.
show_progress() {
  local line tenth last=0
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
      if ((tenth == last)); then continue; fi
      last=$tenth
      echo "  ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
    elif [[ $line != ninja:\ @(Entering directory|no work to do)* ]]; then
      printf '%s\n' "$line"
    fi
  done
}

configure() {  # preset
  local folder=$root/build/$1 state
  state=$(package_state)
  [[ -f $folder/build.ninja && $state == "$(cat "$folder/.packages" 2>/dev/null)" ]] && return
  say "Configuring $1 ..."
  mkdir -p "$folder"
  if ! (cd "$root" && cmake --preset "$1") >"$folder/configure.log" 2>&1; then
    # The cache of a failed run must not decide the next one.
    rm -f "$folder/CMakeCache.txt"
    return 1
  fi
  printf '%s\n' "$state" >"$folder/.packages"
}

build() {  # preset target
  local folder=$root/build/$1 stamp=$root/build/$1/.built-$2
  configure "$1" || { sed -n '/CMake Error/,$p' "$folder/configure.log" | head -n 30 >&2; die "could not configure $1 (whole log: $folder/configure.log)"; }
  say "Building $1 ..."
  local began=$SECONDS
  mkdir -p "$folder" && touch "$stamp.new"  # made before the build: a source that changes while it runs is newer
  if [[ -t 1 ]]; then
    ninja -C "$folder" "$2"
  else
    ninja -C "$folder" "$2" | show_progress
  fi
  mv "$stamp.new" "$stamp"
  say "Built $1 in $((SECONDS - began)) s."
}

# Whether a source, or a folder that gained or lost one, is newer than the last build. Faster than a call of Ninja.
is_stale() {  # preset target [more files and folders]
  local stamp=$root/build/$1/.built-$2
  [[ ! -x $root/build/$1/cli/lockstep || ! -f $stamp ]] && return
  [[ -n $(find "$root"/{CMakeLists.txt,CMakePresets.json,cmake,cli,common,engine,simulator,scripts/build.sh} "${@:3}" -newer "$stamp" -print -quit) ]]
}

# Compiles and links for NVIDIA GPUs wherever there is a toolkit; that needs no GPU.
build_cuda_too() {
  find_nvcc >/dev/null || { say 'No CUDA toolkit here: the cuda preset is not built.'; return; }
  if ! configure cuda; then
    if grep -Eq 'Could NOT find (cuDNN|NCCL)' "$root/build/cuda/configure.log"; then
      say 'The cuda preset is not built:'
      grep -EA3 'Could NOT find (cuDNN|NCCL)' "$root/build/cuda/configure.log" >&2
      return
    fi
  fi
  build cuda all
}
