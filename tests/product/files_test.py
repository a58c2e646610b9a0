#!/usr/bin/env python3
"""Disk full, no permission, half a data file: one sentence each, and the old file whole.

files_test.py PROGRAM; exit code 77 where no small file system can be mounted (it takes a user namespace).
"""
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
failures = []


def check(good, sentence):
    print("ok    " if good else "FAILED", sentence)
    if not good:
        failures.append(sentence)


def run(*words, folder=".", data="/nowhere", home=None):
    environment = dict(os.environ, LOCKSTEP_OFFLINE="1", LOCKSTEP_DATA=data, HOME=home or folder)
    environment.pop("XDG_CACHE_HOME", None)
    return subprocess.run([PROGRAM, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)


def expect_sentence(result, what, *parts):
    lines = [line for line in result.stderr.splitlines() if line]
    check(result.returncode == 1 and len(lines) == 1, f"{what}: one sentence, code 1 (got {len(lines)} lines, code {result.returncode})")
    for part in parts:
        check(part in result.stderr, f"{what}: '{part}' is in: {result.stderr.strip()}")


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


if len(sys.argv) > 2:
    inside_namespace()
else:
    half_a_data_file()
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode == 0:
        code = subprocess.run(["unshare", "-rm", sys.executable, __file__, PROGRAM, "inside"], check=False).returncode
        check(code == 0, "the part in a namespace of its own")
    else:
        print("a full disk could not be tried: no mount namespace here")
        sys.exit(1 if failures else 77)
print(json.dumps({"failures": len(failures)}))
sys.exit(1 if failures else 0)
