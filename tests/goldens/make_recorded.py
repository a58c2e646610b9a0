#!/usr/bin/env python3
"""Makes tests/goldens/recorded, which a clone brings along, from the full recordings: the same models and keys, fewer elements.

    make_recorded.py FULL RECORDED

Initial weights, inputs, losses, outputs and moving statistics stay whole. Of any other tensor with more than MOST elements only every N-th is kept, as
`key#sN`, and the sums over the whole tensor as `key#chk` (sum, sum of absolute values, sum of squares), as the full recordings do for
their largest with N = 7. Keras' own files hold the same weights three times, so they are one archive, which CMake unpacks.
"""

import io
import pathlib
import sys
import tarfile
import zipfile

import numpy as np

MOST = {"mnist": 2000, "reuters": 2000, "mnv2_96": 300}
SAMPLED = ("grad/", "after")
KERAS_FILES = ["mnist16.keras", "mnist16.weights.h5", "mnist16_legacy.h5", "mnist16_predictions.npz"]


def thinned(full, most):
    """(key, array) of everything that is kept, in a fixed order."""
    for key in full.files:
        values = full[key]
        name, _, mark = key.partition("#")
        if not name.startswith(SAMPLED) or mark == "chk" or "/moving_" in name:
            yield key, values
            continue
        stride = int(mark[1:]) if mark else 1
        flat = values.reshape(-1)
        further = -(-flat.size // most)  # the quotient, rounded up
        if further == 1:
            yield key, values
            continue
        yield f"{name}#s{stride * further}", flat[::further].copy()
        if not mark:
            exact = flat.astype(np.float64)
            yield f"{name}#chk", np.array([exact.sum(), np.abs(exact).sum(), np.square(exact).sum()])


def write_npz(path, arrays):
    """As numpy.savez_compressed, with one date, so that the same numbers give the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for key, values in arrays:
            text = io.BytesIO()
            np.lib.format.write_array(text, np.asanyarray(values), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{key}.npy"), text.getvalue(), zipfile.ZIP_DEFLATED, 9)


def write_archive(path, folder, names):
    def plain(member):
        member.mtime = member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mode = 0o644
        return member

    with tarfile.open(path, "w:xz", preset=9) as archive:
        for name in names:
            archive.add(folder / name, name, filter=plain)


def main():
    full, recorded = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    recorded.mkdir(parents=True, exist_ok=True)
    for name, most in MOST.items():
        write_npz(recorded / f"{name}.npz", thinned(np.load(full / f"{name}.npz"), most))
    write_archive(recorded / "keras_files.tar.xz", full, KERAS_FILES)
    for path in sorted(recorded.iterdir()):
        print(f"{path.name}: {path.stat().st_size} bytes")


main()
