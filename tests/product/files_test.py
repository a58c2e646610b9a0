#!/usr/bin/env python3
"""A full disk, a read-only disk, half a data file: one sentence each, and the old file stays whole.

files_test.py PROGRAM; exit code 77 where no small file system can be mounted (it takes a user namespace).
"""
import gzip
import hashlib
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

from support import PROGRAM, check, expect_sentence, failures, finish, peak_of, run, small_mnist


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def training(folder, save):
    return run("run", "mnist", "--quick", "--logical", "1", "--json", "--save", save, folder=folder)


def inside_namespace():
    """In a mount namespace of our own: a disk of 8 MiB, and one that can't be written."""
    small, fixed = tempfile.mkdtemp(), tempfile.mkdtemp()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", small], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", fixed], check=True)
    check(training(small, "model.keras").returncode == 0, "a model is saved on the small disk")
    old = digest(os.path.join(small, "model.keras"))
    with open(os.path.join(small, "filler"), "wb", buffering=0) as filler:
        try:
            while filler.write(b"x" * 4096) > 0:
                pass
        except OSError:
            pass
    expect_sentence(training(small, "model.keras"), "disk full", "model.keras", "No space left")
    check(digest(os.path.join(small, "model.keras")) == old, "disk full: the old file is whole")
    check(sorted(os.listdir(small)) == ["filler", "model.keras"], f"disk full: nothing is left behind ({os.listdir(small)})")

    with open(os.path.join(fixed, "model.keras"), "wb") as file, open(os.path.join(small, "model.keras"), "rb") as source:
        file.write(source.read())
    subprocess.run(["mount", "-o", "remount,ro", fixed], check=True)
    expect_sentence(training(fixed, "model.keras"), "no permission to write", "model.keras", "Read-only file system")
    check(digest(os.path.join(fixed, "model.keras")) == old, "no permission: the old file is whole")
    check(run("run", "mnist", "--quick", "--load", "model.keras", "--json", folder=fixed).returncode == 0, "the old file loads")

    # The backup is all there is of a run whose model could not be saved.
    data = small_mnist(tempfile.mkdtemp(), 600)
    backup = os.path.join(tempfile.mkdtemp(), "b")
    words = ["run", "mnist", "--logical", "1", "--epochs", "2", "--json", "--backup", backup]
    expect_sentence(run(*words, "--save", os.path.join(small, "model.keras"), data=data), "disk full, with a backup", "No space left")
    check(os.path.exists(os.path.join(backup, "training.json")), "disk full: the backup is still there")
    again = run(*words, "--save", "saved.keras", folder=os.path.dirname(backup), data=data)
    check(again.returncode == 0 and '"resumed": {"epoch": 3' in again.stdout, "the same command with room on the disk only saves")
    check(os.path.exists(os.path.join(os.path.dirname(backup), "saved.keras")) and not os.path.exists(backup), "then the backup goes")
    for path in (os.path.join(fixed, "other.keras"), "/proc/m.keras"):
        refused = run("run", "mnist", "--quick", "--save", path, data=data)
        expect_sentence(refused, f"--save {os.path.basename(path)} where nothing can be written", "can't be saved")
        check("Epoch" not in refused.stdout, "it is refused before training")


def half_a_data_file():
    with tempfile.TemporaryDirectory() as data:
        for name, header, count in (("train-images-idx3-ubyte", b"\0\0\x08\x03\0\0\0\x10\0\0\0\x1c\0\0\0\x1c", 16 * 784),
                                    ("train-labels-idx1-ubyte", b"\0\0\x08\x01\0\0\0\x10", 16),
                                    ("t10k-images-idx3-ubyte", b"\0\0\x08\x03\0\0\0\x10\0\0\0\x1c\0\0\0\x1c", 16 * 784),
                                    ("t10k-labels-idx1-ubyte", b"\0\0\x08\x01\0\0\0\x10", 16)):
            with open(os.path.join(data, name + ".gz"), "wb") as file:
                file.write(gzip.compress(header + bytes(count)))
        check(run("run", "mnist", "--json", "--epochs", "1", data=data, folder=data).returncode == 0, "whole data files are read")
        victim = os.path.join(data, "train-images-idx3-ubyte.gz")
        with open(victim, "rb") as file:
            whole = file.read()
        with open(victim, "wb") as file:
            file.write(whole[: len(whole) // 2])
        expect_sentence(run("run", "mnist", "--json", data=data, folder=data), "half a data file", "train-images-idx3-ubyte.gz")
        changed = bytearray(whole)
        changed[-6] ^= 1  # a byte of the checksum gzip keeps
        with open(victim, "wb") as file:
            file.write(changed)
        expect_sentence(run("run", "mnist", "--json", data=data, folder=data), "a checksum that differs", "train-images-idx3-ubyte.gz")


def left_behind():
    """The next save removes the unfinished file of a killed process, and no other file."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model.keras.unfinished-abc123", "model.keras.backup", "other.keras.unfinished-abc123", "model.keras.unfinished-long-name"):
            open(os.path.join(folder, name), "w", encoding="ascii").close()
        check(training(folder, "model.keras").returncode == 0, "a model is saved beside what others left")
        check(sorted(os.listdir(folder)) == ["model.keras", "model.keras.backup", "model.keras.unfinished-long-name", "other.keras.unfinished-abc123"],
              f"the file of a killed save is gone, all others are there ({sorted(os.listdir(folder))})")


def bombs():
    """Small files that unpack to large ones are refused before they are unpacked."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(os.path.join(folder, "bomb.keras"), "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("metadata.json", "{}")
            with archive.open("config.json", "w") as config:
                for _ in range(400):
                    config.write(b" " * (1 << 20))
        images = os.path.join(folder, "data")
        small_mnist(images, 16)
        os.remove(os.path.join(images, "train-images-idx3-ubyte"))
        with gzip.open(os.path.join(images, "train-images-idx3-ubyte.gz"), "wb", compresslevel=1) as file:
            file.write(struct.pack(">4BIII", 0, 0, 8, 3, 400000, 28, 28))
            for _ in range(400):
                file.write(bytes(784 * 1000))
        result, before = peak_of("devices", folder=folder)
        check(result.returncode == 0, "a run to compare with")
        result, peak = peak_of("run", "mnist", "--quick", "--load", "bomb.keras", folder=folder, data=small_mnist(folder + "/few", 16))
        expect_sentence(result, "a configuration of 400 MiB in 400 KiB", "config.json in it claims")
        check(peak < before + 300, f"a configuration of 400 MiB in 400 KiB: takes {peak:.0f} MiB")
        result, peak = peak_of("run", "mnist", "--quick", folder=folder, data=images)
        expect_sentence(result, "a gz of 300 MiB", "train-images-idx3-ubyte.gz", "more than any data set for this program has")
        check(peak < before + 300, f"a gz of 300 MiB: takes {peak:.0f} MiB")


if len(sys.argv) > 2:
    inside_namespace()
else:
    bombs()
    left_behind()
    half_a_data_file()
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode == 0:
        code = subprocess.run(["unshare", "-rm", sys.executable, __file__, PROGRAM, "inside"], check=False).returncode
        check(code == 0, "the part in a namespace of its own")
    else:
        print("a full disk could not be tried: no mount namespace here")
        sys.exit(1 if failures else 77)
finish()
