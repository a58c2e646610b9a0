#!/usr/bin/env python3
"""Results that must not depend on how a run is distributed, on its timing, or on a change of the sources that should keep them.

bits_test.py PROGRAM workers    the same weights from --gpus n, --workers n and --workers 2 --gpus n/2
bits_test.py PROGRAM traces     the same bytes from six traces in the model clock, for --gpus n and --logical n
bits_test.py PROGRAM weights    prints the weights' checksums after 20 steps: three workloads on 1, 2 and 4 replicas, on GPUs of
                                their own and as logical ones. Two revisions of the sources are compared with diff.

In small; LOCKSTEP_LONG=1: all workloads, 2 to 6 replicas (workers), 1 to 8 GPUs (traces). Exit code 77: no data (LOCKSTEP_DATA).
"""
import hashlib
import itertools
import os
import sys
import tempfile

from support import checksums, lines_of
from workers_support import small_photos, start, worker_mnist

LONG = os.environ.get("LOCKSTEP_LONG") == "1"
REUTERS = ["reuters", "--quick", "--batch", "96"]
PHOTOS = ["cats-vs-dogs", "--image", "96", "--epochs", "1", "--batch", "12"]
MNIST = ["mnist", "--epochs", "1", "--batch", "96"]
TIMES = 6
STEPS = 20  # of `weights`: the data is as many batches as that
TWENTY_STEPS = [["mnist", "--epochs", "1", "--batch", "24"], ["reuters", "--quick", "--batch", "45"],
                ["cats-vs-dogs", "--image", "96", "--epochs", "1", "--batch", "12"]]


def finish(process):
    out, errors = process.communicate(timeout=3600)
    if process.returncode != 0:
        sys.exit(f"{' '.join(process.args[1:])} ended with {process.returncode}:\n{errors}")
    return out


def ways_of(replicas):
    ways = [["--gpus", str(replicas)], ["--workers", str(replicas)]]
    if replicas % 2 == 0 and replicas > 2:
        ways.append(["--workers", "2", "--gpus", str(replicas // 2)])
    return ways


def workers(data):
    differ = 0
    cases = [(REUTERS, n) for n in (range(2, 7) if LONG else (3, 4))] + [(PHOTOS, n) for n in (range(2, 7) if LONG else (3,))]
    for words, replicas in cases:
        results = {}
        for way in ways_of(replicas):
            sums = checksums(finish(start([*words, *way, "--json"], data)))
            assert len(sums) == replicas and len(set(sums)) == 1, (way, sums)
            results[" ".join(way)] = sums[0]
        same = len(set(results.values())) == 1
        differ += not same
        print(f"{words[0]}, {replicas} replicas: {results} {'the same' if same else 'DIFFER'}", flush=True)
    return len(cases), differ


def trace_of(folder, words, data, which):
    """The runs of a case disturb each other, two at a time, with other numbers of threads."""
    path = os.path.join(folder, f"{which}.json")
    return path, start([*words, "--json", "--clock", "model", "--trace", path, "--trace-steps", "6"], data, LOCKSTEP_SIM_WORKERS=str(1 + which % 3))


def traces(data):
    differ = 0
    cases = []
    for words in (REUTERS, PHOTOS, MNIST):
        counts = range(1, 9) if LONG else {"reuters": (3, 4), "cats-vs-dogs": (3,), "mnist": (3,)}[words[0]]
        cases += [([*words, way, str(n)]) for n in counts for way in ("--gpus", "--logical") if LONG or n % 2 == 1 or way == "--gpus"]
    for words in cases:
        digests = []
        with tempfile.TemporaryDirectory() as folder:
            for first in range(0, TIMES, 2):
                pair = [trace_of(folder, words, data, which) for which in (first, first + 1)]
                for path, process in pair:
                    finish(process)
                    with open(path, "rb") as file:
                        digests.append(hashlib.sha256(file.read()).hexdigest()[:12])
        differ += len(set(digests)) != 1
        print(f"{' '.join(words)}: {len(digests)} traces, {len(set(digests))} distinct", flush=True)
    return len(cases), differ


def weights(data):
    differ = 0
    cases = list(itertools.product(TWENTY_STEPS, (1, 2, 4), ("--gpus", "--logical")))
    for words, replicas, way in cases:
        lines = lines_of(finish(start([*words, way, str(replicas), "--json"], data, LOCKSTEP_SIM_GPUS=str(replicas))))
        summary = next(line["summary"] for line in lines if "summary" in line)
        assert summary["steps"] == STEPS, (words, summary["steps"])
        sums = summary["checksums"]
        differ += len(set(sums)) != 1 or len(sums) != replicas
        print(f"{words[0]:12} {way:9} {replicas}: {' '.join(sorted(set(sums)))}", flush=True)
    return len(cases), differ


def main():
    source = os.environ.get("LOCKSTEP_DATA", "")
    if not os.path.isdir(os.path.join(source, "reuters")) or not os.path.isdir(os.path.join(source, "cats_vs_dogs", "train")):
        print("skipped: LOCKSTEP_DATA names no folder with reuters and cats_vs_dogs")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as data:
        worker_mnist(data)
        os.symlink(os.path.abspath(os.path.join(source, "reuters")), os.path.join(data, "reuters"))
        photos = 12 * STEPS if sys.argv[2] == "weights" else 24
        small_photos(os.path.join(data, "cats_vs_dogs"), os.path.join(source, "cats_vs_dogs"), photos)
        cases, differ = {"workers": workers, "traces": traces, "weights": weights}[sys.argv[2]](data)
    print(f"{cases} cases, {differ} differ")
    sys.exit(differ != 0)


main()
