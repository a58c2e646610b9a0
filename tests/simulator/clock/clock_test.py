#!/usr/bin/env python3
"""The model clock from outside: what `lockstep project` and `lockstep run --clock model` promise.

    clock_test.py LOCKSTEP CASE
"""
import json
import os
import subprocess
import sys
import tempfile


def run(lockstep, *words, **environment):
    result = subprocess.run([lockstep, *words], capture_output=True, text=True, timeout=300,
                            env={**os.environ, "LOCKSTEP_OFFLINE": "1", **environment})
    assert result.returncode == 0, f"{words} failed:\n{result.stdout}\n{result.stderr}"
    return result.stdout


def project(lockstep, *words):
    return json.loads(run(lockstep, "project", *words, "--json"))["rows"]


def overlap(lockstep):
    """MobileNetV2 on four T4s: buckets hide the all-reduce behind backward; without overlap nothing does."""
    words = ("cats-vs-dogs", "--machine", "4xt4", "--nodes", "1")
    on, off = project(lockstep, *words)[0], project(lockstep, *words, "--overlap", "off")[0]
    hidden = 1 - on["exposed_ms"] / on["communication_ms"]
    print(f"hidden with overlap: {100 * hidden:.1f} %; step {on['step_ms']:.2f} ms, without overlap {off['step_ms']:.2f} ms")
    assert hidden >= 0.8
    assert off["exposed_ms"] >= 0.999 * off["communication_ms"]
    assert off["step_ms"] > on["step_ms"]


def logical(lockstep):
    """Logical GPUs share their card's compute and bandwidth: two of them on the same global batch take longer than the card, and so do four.

    Reuters' kernels are so small that a card spends much of a step on starting them, one after another; two streams start them side by side.
    There splitting may gain what that costs, and no more.
    """
    for workload, least in (("cats-vs-dogs", 1.0), ("mnist", 1.0), ("reuters", 0.9)):
        step = {}
        for gpus in (1, 2, 4):
            words = (workload, "--machine", "t4", "--nodes", "1", "--logical", str(gpus), "--batch-per-replica", str(64 // gpus))
            step[gpus] = project(lockstep, *words)[0]["step_ms"]
        print(f"{workload}, 64 samples on one T4: " + ", ".join(f"{n} logical {ms:.3f} ms" for n, ms in step.items()))
        assert step[2] > least * step[1] and step[4] > least * step[1], step


def scaling(lockstep):
    """More nodes: more samples a second, never better than perfect, more communication; a straggler is waited for; it fits or it says not."""
    rows = project(lockstep, "mnist", "--machine", "h100x8", "--nodes", "1..16")
    for before, after in zip(rows, rows[1:]):
        assert after["samples_per_second"] > before["samples_per_second"]
        assert after["efficiency"] <= before["efficiency"] + 1e-9 <= 1 + 2e-9
    slow = project(lockstep, "mnist", "--machine", "h100x8", "--nodes", "16", "--slow-gpu", "77:3")
    assert slow[0]["step_ms"] > rows[-1]["step_ms"] and slow[0]["waiting_ms"] > rows[-1]["waiting_ms"]
    strong = project(lockstep, "mnist", "--machine", "a100x8", "--nodes", "1..4", "--global-batch", "2048")
    assert [row["batch_per_replica"] for row in strong] == [256, 128, 64]
    small = project(lockstep, "mnist", "--machine", "4xt4", "--nodes", "1", "--global-batch", "2")
    assert not small[0]["fits"]
    large = project(lockstep, "cats-vs-dogs", "--machine", "t4", "--nodes", "1", "--batch-per-replica", "512")
    assert not large[0]["fits"] and "GiB" in large[0]["limit"], large


def same(lockstep):
    """The same run gives the same answers, also while this computer is busy; with math and without."""
    words = ("mnist", "--machine", "4xt4", "--nodes", "1", "--batch-per-replica", "32")
    first = project(lockstep, *words)
    for workers in ("1", "2", "5"):
        os.environ["LOCKSTEP_SIM_WORKERS"] = workers
        assert project(lockstep, *words) == first, workers
    del os.environ["LOCKSTEP_SIM_WORKERS"]
    words = ("cats-vs-dogs", "--machine", "t4", "--nodes", "1", "--logical", "4", "--batch-per-replica", "16")
    first = project(lockstep, *words)  # four threads that issue at the same modelled moments, in any real order
    for _ in range(3):
        assert project(lockstep, *words) == first


def trace(lockstep):
    """A trace in the model clock is the same file, byte for byte, as JSON and as a page: again, with other numbers of worker threads, and
    while other programs use the computer (the runs of a pair disturb each other)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, words in {"4 cards": ("--machine", "4xt4"), "1 card": ("--machine", "t4", "--logical", "4", "--all-reduce", "ring")}.items():
            files = []
            for pair in (("1", "2"), ("2", "4")):
                running = []
                for workers in pair:
                    base = os.path.join(folder, f"{len(files) + len(running)}")
                    running.append((base, subprocess.Popen(
                        [lockstep, "run", "mnist", "--quick", "--clock", "model", *words, "--trace", f"{base}.json,{base}.html",
                         "--trace-steps", "4", "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                        env={**os.environ, "LOCKSTEP_OFFLINE": "1", "LOCKSTEP_SIM_WORKERS": workers})))
                for base, process in running:
                    _, errors = process.communicate(timeout=300)
                    assert process.returncode == 0, errors
                    files.append([open(base + end, "rb").read() for end in (".json", ".html")])
            spans = [event for event in json.loads(files[0][0])["traceEvents"] if event["ph"] == "X"]
            assert len({event["ts"] for event in spans}) > 50 and min(event["ts"] for event in spans) >= 0, "no times in there"
            for other in files[1:]:
                assert other == files[0], f"traces of {name} differ"
            print(f"{name}: {len(files)} runs, {len(spans)} spans, {len(files[0][0])} bytes of JSON and {len(files[0][1])} of HTML, all equal")


def validate(lockstep):
    """Every published row gets an answer; what was fitted is close, what was held out is not wildly off."""
    rows = json.loads(run(lockstep, "project", "--validate", "--json"))
    assert len(rows) >= 10 and sum(not row["fitted"] for row in rows) >= 5
    for row in rows:
        assert row["source"]
        if row["fitted"]:
            assert abs(row["error"]) < 0.05, row
        elif row["unit"] in ("GB/s", "us"):
            assert abs(row["error"]) < 0.6, row


def words(lockstep):
    """What can't be is said in a sentence."""
    def fails(*arguments):
        result = subprocess.run([lockstep, *arguments], capture_output=True, text=True, timeout=60)
        assert result.returncode != 0, arguments
        return result.stderr
    assert "1 to" in fails("project", "mnist", "--nodes", "0..3")
    assert "known machines are" in fails("project", "mnist", "--machine", "h200x8")
    assert "17:1.3" in fails("project", "mnist", "--machine", "4xt4", "--nodes", "1", "--slow-gpu", "x")
    assert "--clock model" in fails("run", "mnist", "--no-math", "--clock", "wall")
    for line in run(lockstep, "project", "mnist", "--machine", "4xt4", "--nodes", "1,2,3").splitlines():
        assert len(line) <= 80, line


if __name__ == "__main__":
    globals()[sys.argv[2]](sys.argv[1])
