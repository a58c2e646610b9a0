#!/usr/bin/env python3
"""Training continues where a saved model or a backup left it, or the program prints why not: other samples, batch size, seed or data.

saved_state_test.py PROGRAM
"""
import json
import os
import shutil
import tempfile

from support import check, expect_sentence, finish, lines_of, run, small_mnist, start, wait_for

TRAIN = ["run", "mnist", "--logical", "2", "--json"]


def find(result, key):
    return next((line[key] for line in lines_of(result.stdout) if key in line), None)


def loaded_models(folder, data):
    two = find(run(*TRAIN, "--epochs", "2", "--batch", "128", folder=folder, data=data), "summary")
    first = run(*TRAIN, "--epochs", "1", "--batch", "128", "--save", "q.keras", "--seed", "0", folder=folder, data=data)
    check(first.returncode == 0, f"a model is saved after one epoch {first.stderr.strip()}")
    for form in ("q.keras", "q.h5", "q.weights.h5"):
        run(*TRAIN, "--epochs", "1", "--batch", "128", "--save", form, folder=folder, data=data)
        more = run(*TRAIN, "--epochs", "1", "--batch", "128", "--load", form, folder=folder, data=data)
        check(find(more, "restarted") is None and find(more, "summary")["checksums"] == two["checksums"],
              f"{form}: with the same options it continues to the bits of two epochs")
    for words, part in ((["--batch", "100"], "batches of 128 samples (now 100)"), (["--batch", "128", "--seed", "4"], "seed 0 (now 4)"),
                        (["--batch", "128", "--quick"], "600 samples in an epoch (now 60)")):
        other = run(*TRAIN, "--epochs", "1", "--load", "q.keras", *words, folder=folder, data=data)
        said, summary = find(other, "restarted"), find(other, "summary")
        check(other.returncode == 0 and said is not None and part in said["why"], f"--load with {words}: says '{part}': {said}")
        check(summary is not None and summary["steps"] == (1 if "--quick" in words else 6 if "100" in words else 5), f"--load with {words}: trains a whole epoch")
    other = run(*TRAIN, "--epochs", "1", "--load", "q.keras", "--batch", "128", folder=folder, data=small_mnist(folder + "/other", 600, seed=2))
    check("other data" in (find(other, "restarted") or {"why": ""})["why"], "--load with other pictures: says so")
    text = run("run", "mnist", "--logical", "2", "--epochs", "1", "--load", "q.keras", "--batch", "126", folder=folder, data=data)
    check("epoch 2 starts over." in text.stdout, "without --json it is a sentence")

    # A file of an older version, or of Keras, does not record its position: after part of an epoch, training starts a new one and prints that.
    with open(os.path.join(folder, "q.h5"), "rb") as file:
        image = file.read()
    check(image.count(b"lockstep_training_place") == 1, "the place is named in the file once")
    with open(os.path.join(folder, "old.h5"), "wb") as file:
        file.write(image.replace(b"lockstep_training_place", b"lockstep_training_xxxxx"))
    old = run(*TRAIN, "--epochs", "1", "--load", "old.h5", "--batch", "128", folder=folder, data=data)
    check(find(old, "restarted") is None and find(old, "summary")["checksums"] == two["checksums"], "an older file goes on after whole epochs")
    old = run(*TRAIN, "--epochs", "1", "--load", "old.h5", "--batch", "126", "--quick", folder=folder, data=data)
    check(old.returncode == 0 and find(old, "summary")["steps"] == 1, "an older file never skips batches it can't know of")
    old = run(*TRAIN, "--epochs", "1", "--load", "old.h5", "--batch", "200", folder=folder, data=data)
    check("does not record its position" in (find(old, "restarted") or {"why": ""})["why"], "an older file: says that it begins an epoch")


def learning_rate(folder, data):
    rates = {}
    for rate in ("0.001", "0.1"):
        result = run(*TRAIN, "--epochs", "1", "--batch", "128", "--load", "q.keras", "--learning-rate", rate, folder=folder, data=data)
        rates[rate] = find(result, "summary")["checksums"]
    check(rates["0.001"] != rates["0.1"], "--load with --learning-rate: the rate asked for counts")


def backups(folder, data):
    words = [*TRAIN, "--batch", "128", "--backup", "b", "--backup-batches", "2"]
    pointer = os.path.join(folder, "b", "training.json")
    process = start(*words, "--epochs", "100000", folder=folder, data=data)
    wait_for(lambda: os.path.exists(pointer), "a backup")
    second = run(*words, "--epochs", "3", folder=folder, data=data)
    expect_sentence(second, "a second process with the same folder", "another process trains with the folder")
    process.kill()
    process.wait()
    with open(pointer, encoding="utf8") as file:
        state = json.load(file)
    check({"samples", "batch_size", "seed", "data", "epoch", "batch"} <= set(state), f"a backup names {sorted(state)}")
    state.update(epoch=0, batch=4)  # in the middle of an epoch, whenever the kill came
    with open(pointer, "w", encoding="utf8") as file:
        json.dump(state, file)
    shutil.copytree(os.path.join(folder, "b"), os.path.join(folder, "kept"))

    def again(what, *more, where=data, parts=()):
        result = run(*TRAIN, "--backup", "b", *more, folder=folder, data=where)
        expect_sentence(result, what, *parts, "remove the folder")
        check(os.path.exists(pointer), f"{what}: the backup is still there")

    again("a backup with --quick", "--batch", "128", "--quick", parts=["600 samples in an epoch (now 60)"])
    again("a backup with another seed", "--batch", "128", "--seed", "5", parts=["seed 0 (now 5)"])
    again("a backup with other batches", "--batch", "100", parts=["global batches of 128 samples"])
    again("a backup with other data", "--batch", "128", where=folder + "/other", parts=["other data"])
    for key in ("samples", "seed", "data", "iterations"):
        state.pop(key, None)
    with open(pointer, "w", encoding="utf8") as file:
        json.dump(state, file)
    older = run(*words, "--epochs", "2", folder=folder, data=data)
    check(older.returncode == 0 and find(older, "resumed") == {"epoch": 1, "batch": 5}, f"a backup of an older version goes on {older.stderr}")
    shutil.rmtree(os.path.join(folder, "b"), ignore_errors=True)
    shutil.copytree(os.path.join(folder, "kept"), os.path.join(folder, "b"))
    state["batch"] = 307
    with open(pointer, "w", encoding="utf8") as file:
        json.dump(state, file)
    expect_sentence(run(*words, "--epochs", "2", folder=folder, data=data), "an older backup at batch 307 of 5", "behind batch 307", "an epoch has 5")
    check(os.path.exists(pointer), "an older backup at batch 307 of 5: it is still there")


def few_images(folder):
    few = run("run", "mnist", "--quick", folder=folder, data=small_mnist(folder + "/few", 5, 3))
    check(few.returncode == 0 and "1 training and 1 test images" in few.stdout, f"--quick with five images trains on one {few.stderr.strip()}")


with tempfile.TemporaryDirectory() as where:
    samples = small_mnist(where + "/data", 600)
    loaded_models(where, samples)
    learning_rate(where, samples)
    backups(where, samples)
    few_images(where)
finish()
