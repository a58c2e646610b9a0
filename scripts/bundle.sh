# shellcheck shell=bash disable=SC2154  # $root and $preset come from ../lockstep and preset.sh
# ./lockstep bundle: the built program in an archive. Unpack it anywhere and call lockstep-bundle/lockstep. Libraries that are not part of
# every system (oneDNN, HDF5, ...) are included; NVIDIA's are not.

make_bundle() {
  choose_preset
  install_missing
  build "$preset" lockstep >&2
  build "$preset" lockstep_shared >&2
  local built=$root/build/$preset file=${1:-$root/build/lockstep-$preset.tar.gz} work one
  work=$(mktemp -d)
  local folder=$work/lockstep-bundle
  mkdir -p "$folder"/{bin,lib,include}
  cp "$built/cli/lockstep" "$folder/bin/"
  cp -r "$built"/lib/* "$folder/lib/"
  cp -r "$root/engine/include/lockstep" "$folder/include/"
  cp -r "$root/lessons" "$root/notebooks" "$root/LICENSE" "$folder/"
  rm -rf "$folder/lessons/work"
  ldd "$built/cli/lockstep" "$built/lib/liblockstep.so" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u | while read -r one; do
    case ${one##*/} in
      liblockstep* | libc.so* | libm.so* | libdl.so* | librt.so* | libpthread.so* | libstdc++.so* | libgcc_s.so* | libcuda* | libcudnn* | libcublas* | libnccl*) ;;
      *) [[ -e $folder/lib/${one##*/} ]] || cp "$(readlink -f "$one")" "$folder/lib/${one##*/}" ;;
    esac
  done
  cat >"$folder/lockstep" <<'END'
#!/bin/sh
# The program with the libraries beside it, wherever this folder is.
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here/bin/lockstep" "$@"
END
  chmod 755 "$folder/lockstep"
  tar -C "$work" -czf "$file" lockstep-bundle
  rm -rf "$work"
  say "$file: $(du -h "$file" | cut -f 1)"
}
