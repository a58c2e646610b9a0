"""Shared by the tests of the program: checks that are counted, runs of the program, and a small MNIST."""
import json
import os
import random
import resource
import struct
import subprocess
import sys
import time

PROGRAM = os.path.abspath(sys.argv[1])
DEADLINE = 240  # for what should take seconds: only a hang takes longer
failures = []


def check(good, sentence):
    print("ok    " if good else "FAILED", sentence, flush=True)
    if not good:
        failures.append(sentence)
    return good


def environment(data="/nowhere", home="/nowhere", **more):
    variables = dict(os.environ, LOCKSTEP_OFFLINE="1", LOCKSTEP_DATA=data, HOME=home, **more)
    variables.pop("XDG_CACHE_HOME", None)
    return variables


def lines_of(text):
    """What a run with --json printed."""
    return [json.loads(line) for line in text.splitlines()]


def checksums(text):
    """Of the replicas, from the output of a run with --json."""
    return next((line["summary"]["checksums"] for line in lines_of(text) if "summary" in line), [])


def run(*words, folder=".", data="/nowhere", **more):
    return subprocess.run([PROGRAM, *words], cwd=folder, env=environment(data, folder, **more), capture_output=True, text=True,
                          timeout=DEADLINE, check=False)


def start(*words, folder, data, **more):
    return subprocess.Popen([PROGRAM, *words], cwd=folder, env=environment(data, folder, **more), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def expect_sentence(result, what, *parts, code=1):
    lines = [line for line in result.stderr.splitlines() if line]
    check(result.returncode == code and len(lines) == 1,
          f"{what}: one sentence, code {code} (got {len(lines)} lines, code {result.returncode})")
    for part in parts:
        check(part in result.stderr, f"{what}: '{part}' is in: {result.stderr.strip()}")


def peak_of(*words, folder, data="/nowhere"):
    """The result of a run and the most memory it had, in MiB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    result = run(*words, folder=folder, data=data)
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return result, max(before, after) / 1024


def small_mnist(folder, train, test=40, seed=1):
    """MNIST's four files with pictures of noise."""
    os.makedirs(folder, exist_ok=True)
    draw = random.Random(seed)
    for name, count in (("train", train), ("t10k", test)):
        with open(os.path.join(folder, f"{name}-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">4BIII", 0, 0, 8, 3, count, 28, 28) + draw.randbytes(count * 784))
        with open(os.path.join(folder, f"{name}-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">4BI", 0, 0, 8, 1, count) + bytes(draw.randrange(10) for _ in range(count)))
    return folder


def wait_for(condition, what):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return check(False, f"waited for {what} until the deadline")


def finish():
    print({"failures": len(failures)})
    sys.exit(1 if failures else 0)
