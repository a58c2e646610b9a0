"""MNIST over several seeds: five epochs each, two logical GPUs, a global batch of 64. The mean must be at least 98.45 %.

Long, so no test of CI runs it. Usage: mnist_campaign.py PROGRAM [SEEDS]; PROGRAM is ./lockstep or a built cli/lockstep, and LOCKSTEP_DATA names
the folder with the four files. Prints the rows of docs/training.md.
"""

import json
import os
import subprocess
import sys

WANTED = 0.9845


def run(program, seed):
    words = [program, "run", "mnist", "--logical", "2", "--batch-per-replica", "32", "--epochs", "5", "--seed", str(seed), "--json"]
    lines = [json.loads(line) for line in subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()]
    epochs, summary = [line for line in lines if "epoch" in line], lines[-1]["summary"]
    if not summary["replicas_identical"]:
        sys.exit(f"seed {seed}: the replicas differ")
    return epochs[-1], summary


def main(program, seeds=5):
    if "LOCKSTEP_DATA" not in os.environ:
        sys.exit("LOCKSTEP_DATA does not name a folder with MNIST")
    accuracies = []
    print("| seed | test accuracy | test loss | checksum of both replicas |\n| --- | --- | --- | --- |")
    for seed in range(1, int(seeds) + 1):
        last, summary = run(program, seed)
        accuracies.append(last["val_accuracy"])
        print(f"| {seed} | {last['val_accuracy']:.4f} | {last['val_loss']:.4f} | `{summary['checksums'][0]}` |", flush=True)
    mean = sum(accuracies) / len(accuracies)
    print(f"| mean | {mean:.4f} | | |")
    return 0 if mean >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
