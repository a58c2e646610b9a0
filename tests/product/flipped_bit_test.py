#!/usr/bin/env python3
"""Every check that compares replicas fails with one flipped bit in one copy, and passes without it.

flipped_bit_test.py LOCKSTEP WORKLOAD PEERS TEST_TRAIN TEST_GOLDENS

Each place runs twice: as it is, and with the hook (`--flip-bit`, or LOCKSTEP_FLIP_BIT). It prints what each place says.
"""
import os
import subprocess
import sys
import tempfile

from support import check, finish

LOCKSTEP, WORKLOAD, PEERS, TEST_TRAIN, TEST_GOLDENS = map(os.path.abspath, sys.argv[1:6])


def expect(what, good, text):
    check(good, what if good else f"{what}\n{text}")


def run(words, bit=""):
    environment = {name: value for name, value in os.environ.items() if name != "LOCKSTEP_FLIP_BIT"}
    if bit:
        environment["LOCKSTEP_FLIP_BIT"] = bit
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def line_with(text, part):
    return next((line.strip() for line in text.splitlines() if part in line), "")


def found(place, words, part, bit="", flag="", code=1):
    """`part` is in the check's output for the broken copy, and not in that for a whole one."""
    whole_code, whole = run(words)
    expect(f"{place} passes without the flipped bit", whole_code == 0 and part not in whole, whole)
    broken_code, broken = run(words + ([flag, bit] if flag else []), "" if flag else bit)
    says = line_with(broken, part)
    expect(f"{place} fails with the flipped bit", broken_code == code and says, broken)
    print(f"{place}: exit {broken_code}: {says[:200]}")


def skipped(text):
    return "SKIPPED" in text


bit = "replica=1,variable=dense/kernel,step=2"
mnist = [LOCKSTEP, "run", "mnist", "--quick"]
found("run --check-mirrored", mnist + ["--logical", "3", "--check-mirrored"], "after step 2: variable dense/kernel", bit, "--flip-bit")
found("run", mnist + ["--logical", "2"], "2 replicas DIFFER: checksum", bit, "--flip-bit")
found("run, by the environment", mnist + ["--gpus", "2"], "2 replicas DIFFER: checksum", bit)
found("two workers --check-mirrored", mnist + ["--workers", "2", "--check-mirrored"], "variable dense/kernel", bit, "--flip-bit")
found("bench --peers", [sys.executable, PEERS, WORKLOAD, "--workloads", "mnist", "--only", "Lockstep x2", "--rounds", "1", "--window", "0.2"],
      "RuntimeError: Lockstep x2: replicas differ", bit)
found("embedding_model_test", [TEST_TRAIN, "--gtest_filter=EmbeddingModel.ReplicasStayEqual"], "replica 1 differs",
      "replica=1,variable=embedding/embeddings,step=2")
for name, test, variable in (
        ("mnist", "Replicas/MnistGolden.*/x2", "dense/kernel"),
        ("reuters", "Ways/ReutersGolden.Outputs*/two_replicas_keras", "dense/kernel"),
        ("mobilenet-v2", "MobileNetV2Golden.TwoReplicas*", "Conv1/kernel")):
    words = [TEST_GOLDENS, f"--gtest_filter={test}"]
    if skipped(run(words)[1]):
        print(f"golden test of {name}: skipped, LOCKSTEP_GOLDENS names no folder of recordings")
        continue
    found(f"golden test of {name}", words, "no longer mirrored" if name == "mobilenet-v2" else "replica 1 differs",
          f"replica=1,variable={variable},step=3")

for wrong, says in (("rubbish", "is not a bit to flip"), ("replica=1,variable=nope,step=1", "has no variable 'nope'"),
                    ("replica=7,variable=dense/kernel,step=1", "no replica 7 among 2"),
                    ("replica=1,variable=dense/kernel,step=100000", "training ended after step")):
    code, text = run(mnist + ["--logical", "2", "--flip-bit", wrong])
    expect(f"--flip-bit {wrong} is a sentence and exit code 2", code == 2 and says in text, f"{code}: {text}")
finish()
