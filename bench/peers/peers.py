#!/usr/bin/env python3
"""The same work by Lockstep, TensorFlow and PyTorch, side by side on one machine: ./lockstep bench --peers.

peers.py WORKLOAD_PROGRAM [--workloads mnist,...] [--rounds N] [--window SECONDS] [--only NAME,...] [--json FILE]

Every peer is a process that waits for a number of steps, trains them, and answers. They take turns (A B C A B C ...), so that a noisy moment
hits all of them; medians and the spread are printed, and ratios to them. fp32, the same global batch, data in memory, start-up left out (and
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
        self.bytes_of_copies = 0.0
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
        self.bytes_of_copies = answer.get("bytes_of_copies", 0.0)
        # Lockstep says true where copies in memory of their own are equal, null where there is one shared copy.
        if self.name.startswith("Lockstep") and answer["replicas_identical"] is not (None if "one-copy" in self.name else True):
            raise RuntimeError(f"{self.name}: replicas differ, or were not compared")

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
    lockstep = [(f"Lockstep x{n}", [program, workload, str(n), *common]) for n in (1, 2, 4, 8)]
    one_copy = [(f"Lockstep x{n} one-copy", [program, workload, str(n), *common, "one-copy"]) for n in (2, 4, 8)]
    return lockstep + one_copy + [
        ("TensorFlow", tensorflow(1)), ("TF Mirrored x2", tensorflow(2, "one-device")), ("TF Mirrored x2 hier.", tensorflow(2, "hierarchical-copy")),
        ("TF Mirrored x4", tensorflow(4, "one-device")), ("PyTorch", torch(1)), ("PyTorch DDP x2", torch(2))]


def print_bounds(by_name, bandwidth):
    """What a step with n copies can't take less than: one replica's step at the same global batch, and the bytes that only copies move."""
    one = by_name.get("Lockstep x1")
    for n in (2, 4, 8):
        peer = by_name.get(f"Lockstep x{n}")
        if one is None or peer is None:
            continue
        extra = peer.bytes_of_copies / bandwidth
        bounds = [one.batch / a + extra for a in one.rates]
        share = statistics.median(bound / (peer.batch / rate) for bound, rate in zip(bounds, peer.rates))
        print(f"{peer.name}: bound {1e3 * statistics.median(bounds):.2f} ms (one replica {1e3 * one.batch / statistics.median(one.rates):.2f} ms, "
              f"{peer.bytes_of_copies / 1e6:.1f} MB of copies at {bandwidth / 1e9:.1f} GB/s {1e3 * extra:.2f} ms), "
              f"measured {1e3 * peer.batch / statistics.median(peer.rates):.2f} ms: bound / measured {100 * share:.0f} %", flush=True)


def compare(workload, program, rounds, window, only=None):
    bandwidth = json.loads(subprocess.run([program, "bandwidth"], check=True, capture_output=True, text=True).stdout)["bytes_per_second"]
    peers = [Peer(name, words, workload) for name, words in peers_of(workload, program) if only is None or name in only]
    for peer in peers:
        peer.calibrate(window)
    for _ in range(rounds):
        for peer in peers:
            peer.measure()
    for peer in peers:
        peer.close()
    by_name = {peer.name: peer for peer in peers}
    base = by_name.get("Lockstep x2", peers[0])
    print(f"\n{workload}, global batch {BATCH[workload]}: samples/s (median of {rounds} rounds), ratio of Lockstep x2 to it (median of the rounds' ratios)")
    print(f"{'':<24}{'samples/s':>10}{'spread':>9}{'ratio':>8}{'first step':>12}{'peak MiB':>10}{'loss':>9}")
    rows = []
    for peer in peers:
        rate = statistics.median(peer.rates)
        spread = (max(peer.rates) - min(peer.rates)) / rate
        ratio = ratio_of(base, peer)
        rows.append({"workload": workload, "peer": peer.name, "samples_per_second": rate, "spread": spread, "ratio": ratio,
                     "first_step_seconds": peer.first_step, "peak_mib": peer.peak, "loss": peer.losses[-1]})
        print(f"{peer.name:<24}{rate:>10.0f}{100 * spread:>8.0f}%{ratio:>8.2f}{peer.first_step:>10.1f} s{peer.peak:>10.0f}{peer.losses[-1]:>9.4f}", flush=True)
    print_bounds(by_name, bandwidth)
    others = [peer for peer in peers if not peer.name.startswith("Lockstep")]
    if not any(peer.name.startswith("TF Mirrored x2") for peer in others):
        return rows
    best = max(others, key=lambda peer: statistics.median(peer.rates))
    mirrored = max((peer for peer in others if peer.name.startswith("TF Mirrored x2")), key=lambda peer: statistics.median(peer.rates))
    print(f"Lockstep x2 is {ratio_of(base, mirrored):.2f} times TensorFlow's MirroredStrategy on 2 devices (the better of its two ways to sum), "
          f"{ratio_of(base, best):.2f} times the best of all others ({best.name}), and takes {base.peak / mirrored.peak:.2f} of the former's memory.")
    for how in ("", " one-copy"):
        kept = ", ".join(f"{ratio_of(by_name[f'Lockstep x{n}{how}'], by_name['Lockstep x1']):.2f} on {n}" for n in (2, 4, 8)
                         if f"Lockstep x{n}{how}" in by_name and "Lockstep x1" in by_name)
        if kept:
            print(f"Of one device's throughput at the same global batch Lockstep{how} keeps {kept} logical GPUs.", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--workloads", default=",".join(BATCH))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=float, default=3.0)
    parser.add_argument("--only", help="names of rows, as 'Lockstep x1,Lockstep x2'")
    parser.add_argument("--json")
    words = parser.parse_args()
    rows = []
    for workload in words.workloads.split(","):
        rows += compare(workload, os.path.abspath(words.program), words.rounds, words.window, words.only.split(",") if words.only else None)
    if words.json:
        with open(words.json, "w", encoding="ascii") as file:
            json.dump(rows, file, indent=1)


main()
