#!/usr/bin/env bash
# Fetches the headers of the oldest NVIDIA libraries that the engine is meant for (CUDA 12.4, cuDNN 9.1, NCCL 2.20) out of their
# Python wheels, into build/parity-wheels: there the conformance of our own headers is judged against them. Libraries are not kept.
#
#   tests/parity/wheels.sh     exit code 0: they are there. Needs pip and a network (about 1.2 GB once) the first time.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$root/build/parity-wheels
wheels=(nvidia-cuda-runtime-cu12==12.4.127 nvidia-cuda-nvcc-cu12==12.4.131 nvidia-cublas-cu12==12.4.5.8 nvidia-cudnn-cu12==9.1.0.70 nvidia-nccl-cu12==2.20.5)

python=$(command -v python3) || { echo 'wheels.sh: python3 is missing' >&2; exit 1; }
for wheel in "${wheels[@]}"; do
  [[ -f $folder/.$wheel ]] && continue
  echo "Headers of $wheel ..." >&2
  download=$(mktemp -d)
  trap 'rm -rf "$download"' EXIT
  if ! "$python" -m pip download --quiet --no-deps --only-binary :all: --platform manylinux2014_x86_64 --dest "$download" "$wheel" \
    >"$download/log" 2>&1; then
    tail -n 5 "$download/log" >&2
    echo "wheels.sh: pip could not fetch $wheel" >&2
    exit 1
  fi
  mkdir -p "$folder"
  "$python" - "$download" "$folder" <<'UNPACK'
import sys, zipfile
from pathlib import Path
download, folder = map(Path, sys.argv[1:])
for wheel in download.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if "/include/" not in name or name.endswith("/") or ".." in name:
                continue
            to = folder / "include" / name.split("/include/", 1)[1]
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(archive.read(name))
UNPACK
  rm -rf "$download"
  trap - EXIT
  touch "$folder/.$wheel"
done
echo "Headers of ${wheels[*]} are in build/parity-wheels." >&2
