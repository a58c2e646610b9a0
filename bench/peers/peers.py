#!/usr/bin/env python3
"""The same work by Lockstep, TensorFlow and PyTorch, side by side on one machine: ./lockstep bench --peers.

peers.py WORKLOAD_PROGRAM [--workloads mnist,...] [--rounds N] [--window SECONDS] [--json FILE]

Every peer is a process that waits for a number of steps, trains them, and answers. They take turns (A B C A B C ...), so that a noisy moment
hits all alike; medians and the spread are printed, and ratios to them. fp32, the same global batch, data in memory, start-up left out (and
printed apart). A peer that fails to run fails the comparison.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = {"mnist": 128, "reuters": 32, "mobilenet-v2-96": 32, "mobilenet-v2-224": 16}
SAMPLES = {"mnist": 1024, "reuters": 1024, "mobilenet-v2-96": 128, "mobilenet-v2-224": 32}


class Peer:
    def __init__(self, name, words, workload):
        self.name, self.batch, self.rates, self.peak, self.losses, self.steps = name, BATCH[workload], [], 0.0, [], 1
        environment = dict(os.environ, OMP_NUM_THREADS="1") if "DDP" in name else dict(os.environ)
        begin = time.monotonic()
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env=environment, cwd=HERE)
        self.read()
        self.first_step = time.monotonic() - begin

    def read(self):
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"{self.name} ended with code {self.process.wait()}")
            if line.startswith("{"):
                return json.loads(line)

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return self.read()

    def calibrate(self, window):
        """Steps that take about `window` seconds; also the warm-up."""
        answer = self.run(3)
        answer = self.run(max(3, int(0.5 * window * 3 / max(answer["seconds"], 1e-3))))
        self.steps = max(2, int(window * answer["steps"] / answer["seconds"]))

    def measure(self):
        answer = self.run(self.steps)
        self.rates.append(self.batch * answer["steps"] / answer["seconds"])
        self.peak = max(self.peak, answer["peak_mib"])
        self.losses.append(answer["loss"])
        if answer.get("replicas_identical") is False:
            raise RuntimeError(f"{self.name}: replicas differ")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ratio_of(one, other):
    """Of neighbouring rounds: what slows the machine for a while slows both."""
    return statistics.median(a / b for a, b in zip(one.rates, other.rates))


def peers_of(workload, program):
    common = [str(BATCH[workload]), str(SAMPLES[workload])]
    python = sys.executable
    tensorflow = lambda replicas, *ops: [python, "tensorflow_peer.py", workload, str(replicas), *common, *ops]  # noqa: E731
    torch = lambda replicas: [python, "torch_peer.py", workload, str(replicas), *common]  # noqa: E731
    return [(f"Lockstep x{n}", [program, workload, str(n), *common]) for n in (1, 2, 4, 8)] + [
        ("TensorFlow", tensorflow(1)), ("TF Mirrored x2", tensorflow(2, "one-device")), ("TF Mirrored x2 hier.", tensorflow(2, "hierarchical-copy")),
        ("TF Mirrored x4", tensorflow(4, "one-device")), ("PyTorch", torch(1)), ("PyTorch DDP x2", torch(2))]


def compare(workload, program, rounds, window):
    peers = [Peer(name, words, workload) for name, words in peers_of(workload, program)]
    for peer in peers:
        peer.calibrate(window)
    for _ in range(rounds):
        for peer in peers:
            peer.measure()
    for peer in peers:
        peer.close()
    by_name = {peer.name: peer for peer in peers}
    base = by_name["Lockstep x2"]
    print(f"\n{workload}, global batch {BATCH[workload]}: samples/s (median of {rounds} rounds), ratio of Lockstep x2 to it (median of the rounds' ratios)")
    print(f"{'':<22}{'samples/s':>10}{'spread':>9}{'ratio':>8}{'first step':>12}{'peak MiB':>10}{'loss':>9}")
    rows = []
    for peer in peers:
        rate = statistics.median(peer.rates)
        spread = (max(peer.rates) - min(peer.rates)) / rate
        ratio = ratio_of(base, peer)
        rows.append({"workload": workload, "peer": peer.name, "samples_per_second": rate, "spread": spread, "ratio": ratio,
                     "first_step_seconds": peer.first_step, "peak_mib": peer.peak, "loss": peer.losses[-1]})
        print(f"{peer.name:<22}{rate:>10.0f}{100 * spread:>8.0f}%{ratio:>8.2f}{peer.first_step:>10.1f} s{peer.peak:>10.0f}{peer.losses[-1]:>9.4f}", flush=True)
    others = [peer for peer in peers if not peer.name.startswith("Lockstep")]
    best = max(others, key=lambda peer: statistics.median(peer.rates))
    mirrored = max((peer for peer in others if peer.name.startswith("TF Mirrored x2")), key=lambda peer: statistics.median(peer.rates))
    print(f"Lockstep x2 is {ratio_of(base, mirrored):.2f} times TensorFlow's MirroredStrategy on 2 devices (the better of its two ways to sum), "
          f"{ratio_of(base, best):.2f} times the best of all others ({best.name}), and takes {base.peak / mirrored.peak:.2f} of the former's memory.")
    kept = ", ".join(f"{ratio_of(by_name[f'Lockstep x{n}'], by_name['Lockstep x1']):.2f} on {n}" for n in (2, 4, 8))
    print(f"Of one device's throughput at the same global batch Lockstep keeps {kept} logical GPUs.", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--workloads", default=",".join(BATCH))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=float, default=3.0)
    parser.add_argument("--json")
    words = parser.parse_args()
    rows = []
    for workload in words.workloads.split(","):
        rows += compare(workload, os.path.abspath(words.program), words.rounds, words.window)
    if words.json:
        with open(words.json, "w", encoding="ascii") as file:
            json.dump(rows, file, indent=1)


main()
