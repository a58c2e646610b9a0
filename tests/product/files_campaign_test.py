#!/usr/bin/env python3
"""Damaged files of every format, and processes killed while they save: no crash, no hang, nothing lost.

files_campaign_test.py PROGRAM DRIVER; LOCKSTEP_CAMPAIGN=20 makes it twenty times as long, LOCKSTEP_CAMPAIGN_FIRST chooses other mutants.
"""
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from support import DEADLINE, PROGRAM, check, environment, finish, run, small_mnist

DRIVER = os.path.abspath(sys.argv[2])
HERE = os.path.dirname(os.path.abspath(__file__))
LENGTH = int(os.environ.get("LOCKSTEP_CAMPAIGN", "1"))
FIRST = int(os.environ.get("LOCKSTEP_CAMPAIGN_FIRST", "17"))
MUTANTS, KILLS = 500 * LENGTH, 60 * LENGTH


def seeds(folder):
    """A whole file of each format."""
    corpus, images = os.path.join(HERE, "..", "fuzz", "corpus"), os.path.join(HERE, "..", "engine", "data", "images")
    files = {"npz": os.path.join(corpus, "npz", "lists"), "keras": os.path.join(corpus, "zip", "model_keras"),
             "h5": os.path.join(corpus, "hdf5", "model_h5"), "weights.h5": os.path.join(corpus, "hdf5", "model_weights_h5"),
             "jpg": os.path.join(images, "progressive.jpg"), "png": os.path.join(images, "palette.png"),
             "gif": os.path.join(images, "interlaced.gif"), "bmp": os.path.join(images, "palette.bmp"),
             "machine.json": os.path.join(HERE, "..", "..", "simulator", "clock", "machines", "4xt4.json")}
    small_mnist(os.path.join(folder, "few"), 4)
    files["idx"] = os.path.join(folder, "few", "train-images-idx3-ubyte")
    files["gz"] = os.path.join(folder, "images.gz")
    with open(files["idx"], "rb") as plain, open(files["gz"], "wb") as packed:
        packed.write(gzip.compress(plain.read()[:2000].ljust(16 + 4 * 784, b"\0")))
    files["trace.json"] = os.path.join(folder, "step.json")
    run("run", "mnist", "--quick", "--logical", "2", "--trace", "step.json", "--trace-steps", "1", folder=folder, data=os.path.join(folder, "few"))
    files["backup"] = os.path.join(folder, "training.json")
    with open(files["backup"], "w", encoding="ascii") as file:
        json.dump({"weights": "backup-1-3.weights.h5", "epoch": 1, "batch": 3, "batch_size": 128, "samples": 600, "seed": 7,
                   "data": "0123456789abcdef", "iterations": 8}, file)
    return files


def mutants(folder):
    for form, file in seeds(folder).items():
        begin = time.monotonic()
        result = subprocess.run([DRIVER, form, file, str(MUTANTS), str(FIRST)], cwd=folder, env=environment(LOCKSTEP_SIM_WORKERS="1"), capture_output=True,
                                text=True, timeout=DEADLINE * LENGTH, check=False)
        said = result.stdout.strip().splitlines()
        check(result.returncode == 0, f"{said[-1] if said else result.stderr.strip()} ({time.monotonic() - begin:.1f} s)")
        for line in said[:-1]:
            print("      ", line)


def kills(folder):
    """The same command, killed at random moments and started again until it ends: it must get the bits of an undisturbed run."""
    data = small_mnist(os.path.join(folder, "data"), 1500)
    words = ["run", "mnist", "--logical", "1", "--batch", "50", "--json"]
    twice = [*words, "--epochs", "2"]
    begin = time.monotonic()
    alone = run(*twice, folder=folder, data=data)
    whole = time.monotonic() - begin
    expected = json.loads(alone.stdout.splitlines()[-1])["summary"]["checksums"]
    draw = random.Random(FIRST)
    killed = ended = lost = left = 0
    with_files = [*twice, "--backup", "b", "--backup-batches", "2", "--save", "m.keras"]
    while killed < KILLS:
        process = subprocess.Popen([PROGRAM, *with_files], cwd=folder, env=environment(data), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            said, errors = process.communicate(timeout=draw.uniform(0.1, 1.6) * whole)
        except subprocess.TimeoutExpired:
            process.kill()
            said, errors = process.communicate()
        if process.returncode == -9:
            killed += 1
            continue
        ended += 1
        if process.returncode != 0 or json.loads(said.splitlines()[-1])["summary"]["checksums"] != expected:
            lost += 1
            check(False, f"after {killed} kills: code {process.returncode}, {errors.strip()} {said[-200:]}")
        more = run(*words, "--load", "m.keras", "--epochs", "1", folder=folder, data=data)
        lost += more.returncode != 0
        remains = [name for name in os.listdir(folder) if name.startswith("m.keras") and name != "m.keras"]
        left += len(remains) + os.path.exists(os.path.join(folder, "b"))
        if os.path.exists(os.path.join(folder, "m.keras")):
            os.remove(os.path.join(folder, "m.keras"))
        shutil.rmtree(os.path.join(folder, "b"), ignore_errors=True)
    final = subprocess.run([PROGRAM, *with_files], cwd=folder, env=environment(data), capture_output=True, text=True, timeout=DEADLINE, check=False)
    lost += final.returncode != 0 or json.loads(final.stdout.splitlines()[-1])["summary"]["checksums"] != expected
    check(lost == 0 and left == 0, f"{killed} kills, {ended + 1} runs that came to their end: {lost} lost, {left} files left behind")


with tempfile.TemporaryDirectory() as where:
    mutants(where)
    kills(where)
finish()
