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
    words = ("cats-vs-dogs", "--machine", "4xt4", "--nodes", "1", "--bucket", "1")
    on, off = project(lockstep, *words)[0], project(lockstep, *words, "--overlap", "off")[0]
    hidden = 1 - on["exposed_ms"] / on["communication_ms"]
    print(f"hidden with overlap: {100 * hidden:.1f} %; step {on['step_ms']:.2f} ms, without overlap {off['step_ms']:.2f} ms")
    assert hidden >= 0.8
    assert off["exposed_ms"] >= 0.999 * off["communication_ms"]
    assert off["step_ms"] > on["step_ms"]


def logical(lockstep):
    """Two logical GPUs on one card are not faster than the card: the same global batch takes longer."""
    words = ("cats-vs-dogs", "--machine", "t4", "--nodes", "1")
    one = project(lockstep, *words, "--logical", "1", "--batch-per-replica", "64")[0]
    two = project(lockstep, *words, "--logical", "2", "--batch-per-replica", "32")[0]
    print(f"one: {one['step_ms']:.2f} ms, two: {two['step_ms']:.2f} ms")
    assert two["step_ms"] > one["step_ms"]


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
    """The same run gives the same answers, whatever this computer does meanwhile; with math and without."""
    words = ("mnist", "--machine", "4xt4", "--nodes", "1", "--batch-per-replica", "32")
    first = project(lockstep, *words)
    for workers in ("1", "2", "5"):
        os.environ["LOCKSTEP_SIM_WORKERS"] = workers
        assert project(lockstep, *words) == first, workers
    del os.environ["LOCKSTEP_SIM_WORKERS"]


def trace(lockstep):
    """A trace in the model clock is the same file, byte for byte."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, workers in enumerate(("1", "2", "2", "4")):
            path = os.path.join(folder, f"{number}.json")
            run(lockstep, "run", "mnist", "--quick", "--clock", "model", "--machine", "4xt4", "--trace", path, "--trace-steps", "4",
                "--json", LOCKSTEP_SIM_WORKERS=workers)
            files.append(open(path, "rb").read())
        assert len(files[0]) > 1000
        for other in files[1:]:
            assert other == files[0], "traces differ"


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
