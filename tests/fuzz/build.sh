#!/usr/bin/env bash
# Builds the harnesses with clang, libFuzzer, ASan and UBSan into build/fuzz: only the readers, so it takes a minute. Then, for example:
#   build/fuzz/npz_fuzz -max_total_time=60 -rss_limit_mb=1024 build/fuzz/found tests/fuzz/corpus/npz
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
clang=${CLANG:-clang++}
command -v "$clang" >/dev/null || { echo "this needs clang with libFuzzer: apt-get install clang libclang-rt-14-dev" >&2; exit 77; }
out=build/fuzz
mkdir -p "$out/objects" "$out/found"
hdf5=$(ls -d /usr/include/hdf5/serial /usr/include/hdf5 2>/dev/null | head -n 1 || true)
flags=(-std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined -I. -Iengine/include
  ${hdf5:+-I"$hdf5"})
objects=()
for source in engine/data/files/{idx,inflater,input_file,npz,npy,npy_header,pickle,zip_archive}.cc engine/tensor/array.cc engine/io/hdf5_reader.cc \
  engine/data/image/{image,jpeg,png,gif,bmp}.cc simulator/gpu/ptx/*.cc simulator/gpu/nvidia/image/*.cc; do
  object=$out/objects/$(basename "$source" .cc).o
  objects+=("$object")
  [[ $object -nt $source ]] || "$clang" "${flags[@]}" -fsanitize=fuzzer-no-link -c "$source" -o "$object"
done
for harness in tests/fuzz/*_fuzz.cc; do
  name=$(basename "$harness" .cc)
  "$clang" "${flags[@]}" -fsanitize=fuzzer "$harness" "${objects[@]}" -lz -ljpeg -ldl -o "$out/$name"
done
ls "$out"/*_fuzz
