# shellcheck shell=bash disable=SC2154  # $root comes from ../lockstep
# ./lockstep format: all C++ sources through clang-format.

format_sources() {
  command -v clang-format >/dev/null || die 'this needs clang-format (version 14, as in Debian 12): apt-get install clang-format'
  local mode=(-i)
  [[ ${1:-} == --check ]] && mode=(--dry-run -Werror)
  cd "$root" || exit
  find engine simulator cli common tests bench lessons notebooks examples -path lessons/work -prune -o \
    \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.inl' \) -print0 | xargs -0 -r clang-format "${mode[@]}"
}
