# shellcheck shell=bash
# The packages of Debian and Ubuntu that the project needs, and their installation.

# Names in Debian 12 and Ubuntu 22.04 (there, some are in `universe`) and newer.
packages=(g++ cmake ninja-build ccache python3 ca-certificates libdnnl-dev libboost-context-dev libhdf5-dev libfmt-dev
  nlohmann-json3-dev libcli11-dev libcurl4-openssl-dev zlib1g-dev libjpeg-dev libgtest-dev libgmock-dev libbenchmark-dev)
# Only for tests: mpirun starts programs of several workers, a terminal shows what a user sees, and git lists the sources.
test_packages=(openmpi-bin libopenmpi-dev procps tmux git)
# For notebooks: Jupyter's protocol and clang's interpreter. Where a distribution lacks them, everything else works.
notebook_packages=(libzmq3-dev libssl-dev python3-venv)
# A test opens the trace page in a real browser. Ubuntu has it as a snap only, so there the test is skipped without one.
if grep -qs '^ID=debian' /etc/os-release; then test_packages+=(chromium chromium-driver); fi

install_missing() {
  local package missing=() sudo=()
  [[ ${LOCKSTEP_INSTALL:-} == no ]] && return
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    command -v cmake >/dev/null && command -v ninja >/dev/null && return  # CMake reports what it misses
    die "this is not Debian or Ubuntu. Fix: install what these packages have, then try again: ${packages[*]}"
  fi
  local installed
  installed=" $(dpkg-query -W -f '${db:Status-Abbrev}${Package} ' "${packages[@]}" 2>/dev/null || true)"
  for package in "${packages[@]}"; do [[ $installed == *"ii $package "* ]] || missing+=("$package"); done
  ((${#missing[@]})) || return 0

  if ((EUID)); then
    sudo=(sudo)
    if ! command -v sudo >/dev/null || { [[ ! -t 0 ]] && ! sudo -n true 2>/dev/null; }; then
      die "these packages are missing and installing them takes root; please run: apt-get install ${missing[*]}"
    fi
  fi
  say "Packages to install: ${missing[*]}"
  if [[ -t 0 && -t 2 ]]; then
    local answer
    read -r -p 'Install them now? [Y/n] ' answer
    [[ -z $answer || $answer == [yYjJ]* ]] || die "nothing installed; when you are ready: apt-get install ${missing[*]}"
  fi
  local log
  log=$(mktemp)
  say 'Installing ...'
  if ! { "${sudo[@]}" apt-get update -q && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends \
    "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    die "apt-get could not install them (whole log: $log). On Ubuntu: add-apt-repository universe. Then: apt-get install ${missing[*]}"
  fi
  rm -f "$log"
}

# The notebooks' packages. Fails where the distribution does not have them.
install_for_notebooks() {
  local before=("${packages[@]}") status=0 llvm=19
  # The newest clang that the kernel supports (notebooks/CMakeLists.txt) and the distribution has.
  if apt-cache show libclang-22-dev >/dev/null 2>&1; then llvm=22; fi
  packages=("${notebook_packages[@]}" "libclang-$llvm-dev" "libclang-cpp$llvm-dev" "llvm-$llvm-dev")
  (install_missing) || status=$?
  packages=("${before[@]}")
  return "$status"
}

# The packages that a build can use, with their versions. CMake leaves out what it does not find, so it is run again when these change.
package_state() {
  dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\n' "${packages[@]}" "${test_packages[@]}" "${notebook_packages[@]}" 2>/dev/null | sort -u || true
}
