"""Writes the seeds: tiny, whole files of every kind, and some whose headers lie. Run with the parity environment's Python."""

import gzip
import io
import os
import pickle
import struct
import sys
import tempfile
import zipfile
import zlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "corpus")


def put(kind, name, content):
    folder = os.path.join(root, kind)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)


def saved(save, **arrays):
    memory = io.BytesIO()
    save(memory, **arrays)
    return memory.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main():
    idx = struct.pack(">HBB3I", 0, 8, 3, 2, 3, 2) + bytes(range(12))
    put("idx", "images", idx)
    put("idx", "labels", struct.pack(">HBBI", 0, 8, 1, 5) + bytes(5))
    put("idx", "compressed", gzip.compress(idx, mtime=0))
    put("idx", "huge", struct.pack(">HBB3I", 0, 8, 3, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF) + bytes(4))

    floats = np.arange(6, dtype=np.float32).reshape(2, 3)
    put("npz", "stored", saved(np.savez, a=floats, b=np.arange(3)))
    put("npz", "deflated", saved(np.savez_compressed, a=floats, order=np.asfortranarray(floats)))
    lists = np.empty(3, dtype=object)
    lists[:] = [[1, 2, 3], [], [70000, 5]]
    put("npz", "lists", saved(lambda f, **a: np.savez(f, **a), x=lists, y=np.arange(3)))
    put("npz", "huge", saved(np.savez, a=floats).replace(b"(2, 3)", b"(2**9"[:6]))
    for protocol in (2, 3, 4):
        put("pickle", f"lists{protocol}", bytes([3]) + pickle.dumps(lists, protocol=protocol))
    put("pickle", "system", bytes([1]) + b"cos\nsystem\n(S'echo'\ntR.")

    memory = io.BytesIO()
    with h5py.File(memory, "w", libver="earliest") as file:
        file.create_dataset("layers/dense/vars/0", data=floats)
        file.create_dataset("optimizer/vars/0", data=np.int64(3))
        file["layers"].attrs["name"] = "model"
        file.attrs["layer_names"] = np.array([b"dense", b"flatten"])
    put("hdf5", "earliest", memory.getvalue())
    with tempfile.TemporaryDirectory() as folder:
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.train_on_batch(np.zeros((1, 2), np.float32), np.zeros((1, 1), np.float32))
        for kind, name in (("hdf5", "model.h5"), ("hdf5", "model.weights.h5"), ("zip", "model.keras")):
            path = os.path.join(folder, name)
            (model.save_weights if "weights" in name else model.save)(path)
            with open(path, "rb") as file:
                put(kind, name.replace(".", "_"), file.read())
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", "{}" * 30)
        archive.writestr("model.weights.h5", b"\x89HDF\r\n\x1a\n" + bytes(80))
    put("zip", "deflated", memory.getvalue())

    picture = (np.arange(8 * 9 * 3) % 255).astype(np.uint8).reshape(8, 9, 3)
    put("image", "color.jpg", tf.io.encode_jpeg(picture, quality=80).numpy())
    put("image", "progressive.jpg", tf.io.encode_jpeg(picture, progressive=True).numpy())
    put("image", "grey.jpg", tf.io.encode_jpeg(picture[:, :, :1], format="grayscale").numpy())
    put("image", "color.png", tf.io.encode_png(picture).numpy())
    put("image", "alpha.png", tf.io.encode_png(np.dstack([picture, picture[:, :, :1]])).numpy())
    put("image", "sixteen.png", tf.io.encode_png(picture.astype(np.uint16)).numpy())
    palette = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 3, 2, 2, 3, 0, 0, 1)) + chunk(b"PLTE", bytes(range(12)))
    put("image", "interlaced.png", palette + chunk(b"IDAT", zlib.compress(bytes(12))) + chunk(b"IEND", b""))
    header = struct.pack("<2sIHHI", b"BM", 14 + 40 + 24, 0, 0, 54)
    put("image", "color.bmp", header + struct.pack("<IiiHHIIiiII", 40, 2, 3, 1, 24, 0, 24, 0, 0, 0, 0) + bytes(24))
    put("image", "runs.bmp", struct.pack("<2sIHHI", b"BM", 14 + 40 + 16 + 8, 0, 0, 70) + struct.pack("<IiiHHIIiiII", 40, 3, 2, 1, 8, 1, 8, 0, 0, 4, 0) +
        bytes(16) + bytes([3, 1, 0, 0, 3, 2, 0, 1]))
    put("image", "two.gif", b"GIF89a\x03\x00\x02\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x03\x00\x02\x00\x00\x02\x03\x84\x11\x05\x00;")


if __name__ == "__main__":
    main()
