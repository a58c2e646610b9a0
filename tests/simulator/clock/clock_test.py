#!/usr/bin/env python3
"""The model clock from outside: what `lockstep project` and `lockstep run --clock model` promise.

    clock_test.py LOCKSTEP CASE
"""
import json
import os
import re
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
    """Logical GPUs share their card's compute, bandwidth and multiprocessors: they are never better than what stood idle allows.

    MobileNetV2's kernels mostly fill a card, so splitting gains nothing; MNIST has one of a single block, and gains next to nothing. Most of Reuters'
    step is kernels of a single block, which leave most multiprocessors idle: there n streams may come near an n-th of the time, and no further.
    """
    for workload, least in (("cats-vs-dogs", {2: 1, 4: 1}), ("mnist", {2: 0.95, 4: 0.95}), ("reuters", {2: 1 / 2, 4: 1 / 4})):
        step = {}
        for gpus in (1, 2, 4):
            words = (workload, "--machine", "t4", "--nodes", "1", "--logical", str(gpus), "--batch-per-replica", str(64 // gpus))
            step[gpus] = project(lockstep, *words)[0]["step_ms"]
        print(f"{workload}, 64 samples on one T4: " + ", ".join(f"{n} logical {ms:.3f} ms" for n, ms in step.items()))
        assert all(step[gpus] > part * step[1] for gpus, part in least.items()), step


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
    """Every published row gets an answer, the bounds hold, each group has a mean and a worst error, and the picture has a point for each row."""
    with tempfile.TemporaryDirectory() as folder:
        picture = os.path.join(folder, "validation.svg")
        answer = json.loads(run(lockstep, "project", "--validate", "--json", "--svg", picture))
        drawn = open(picture).read()
    points = drawn.count("<title>")
    rows, groups = answer["rows"], {group["group"]: group for group in answer["groups"]}
    assert answer["holds"] and all(bound["holds"] for bound in answer["bounds"])
    nccl = [row for row in rows if "ranks" in row["group"]]
    assert len(nccl) == 131 and points == len(rows)
    assert sum(abs(row["error"]) for row in nccl) / 131 <= 0.10 and sum(abs(row["held_out_error"]) for row in nccl) / 131 <= 0.20
    small = [row for row in nccl if "KiB" in row["name"] and int(row["name"].split()[0]) <= 64]
    assert len(small) == 21 and sum(abs(row["held_out_error"]) for row in small) / 21 <= 0.25
    resnet = [row for row in rows if row["group"].startswith("ResNet-50")]
    assert len(resnet) == 16 and sum(abs(row["error"]) for row in resnet) / 16 <= 0.15 and max(abs(row["error"]) for row in resnet) <= 0.30
    micro = [row for row in rows if row["group"].startswith("Micro-benchmarks")]
    held_out = [abs(row["held_out_error"]) for row in micro if not row["fitted"]]
    assert len(micro) == 16 and len(held_out) == 13 and sum(held_out) / 13 <= 0.15 and max(held_out) <= 0.50
    for row in rows:
        assert row["source"] and row["group"] in groups
        assert abs(row["error"] - (row["model"] / row["published"] - 1)) < 1e-9
        assert "held_out_error" in row or row["fitted"], row
        if row["group"] == "other all-reduces":
            assert abs(row["error"]) < (0.05 if row["fitted"] else 0.6), row
    in_legend = re.findall(r"scale\(4\.5\)' d='([^']+)' fill='([^']+)'></path><text[^>]*>([^<]+)<", drawn)
    assert [name for _, _, name in in_legend] == list(groups), in_legend
    assert len({(shape, colour) for shape, colour, _ in in_legend}) == len(groups), in_legend
    host = [row for row in rows if row["group"] == "TensorFlow, tiny layers on CPUs"]
    assert len(host) == 30 and sum(row["fitted"] for row in host) == 24
    tensorflow = {row["name"]: row for row in rows if row["group"] == "TensorFlow, published steps"}
    assert len(tensorflow) == 3 and all("held_out_error" in row and not row["fitted"] for row in tensorflow.values())
    slower = [row["model"] for row in tensorflow.values() if row["unit"] == "times"]
    assert len(slower) == 2 and min(slower) > 1, "two GPUs are not slower than one, as they were"
    for name, group in groups.items():
        for kind in ("fitted", "held_out"):
            if kind in group:
                assert 0 <= group[kind]["mean"] <= group[kind]["worst"], name
    table = run(lockstep, "project", "--validate")
    assert "at most 10 %" in table and "EXCEEDS" not in table


def framework(lockstep):
    """TensorFlow's host: two GPUs take longer for the same small batch than one, which this engine's host does not say of them; large steps are the
    GPUs'; nothing changes without the option; and what was not counted or is not known is refused."""
    def step(workload, machine, gpus, batch, *words):
        row, = project(lockstep, workload, "--machine", machine, "--nodes", "1", "--gpus", str(gpus), "--batch-per-replica", str(batch), *words)
        return row
    tensorflow = ("--framework", "tensorflow")
    for machine in ("4xt4", "a100x8", "h100x8"):
        times = [step("mnist", machine, gpus, 64 // gpus, *tensorflow)["step_ms"] for gpus in (1, 2, 4)]
        own = [step("mnist", machine, gpus, 64 // gpus)["step_ms"] for gpus in (1, 2, 4)]
        print(f"MNIST on {machine}, 64 samples on 1, 2, 4 GPUs: TensorFlow " + ", ".join(f"{ms:.2f}" for ms in times) + " ms, here "
              + ", ".join(f"{ms:.2f}" for ms in own))
        assert times[0] * 1.3 < times[1] < times[2], times
        assert times[1] / times[0] > own[1] / own[0]
    plain, issued = step("cats-vs-dogs", "4xt4", 1, 64), step("cats-vs-dogs", "4xt4", 1, 64, *tensorflow)
    assert "host_ms" not in plain and issued["host_ms"] > 1
    assert plain["step_ms"] < issued["step_ms"] < plain["step_ms"] + issued["host_ms"], (plain, issued)
    assert issued["compute_ms"] == plain["compute_ms"]
    small = step("mnist", "4xt4", 2, 32, *tensorflow)
    assert small["limit"] == "the host" and abs(small["samples_per_second"] * small["step_ms"] / 1000 - 64) < 1e-6
    assert step("mnist", "4xt4", 2, 32, "--framework", "lockstep") == step("mnist", "4xt4", 2, 32)
    assert "TensorFlow" in run(lockstep, "project", "mnist", "--machine", "4xt4", "--nodes", "1", *tensorflow).splitlines()[1]

    def refused(*words):
        result = subprocess.run([lockstep, "project", *words], capture_output=True, text=True, timeout=60)
        assert result.returncode == 2 and result.stderr.count("\n") == 1 and not result.stdout, (words, result)
        return result.stderr
    assert "counted" in refused("resnet50", "--machine", "a100x8", *tensorflow)
    assert "counted" in refused("all-reduce", "--machine", "a100x8", "--bytes", "8", *tensorflow)
    refused("mnist", "--machine", "4xt4", "--framework", "jax")
    with tempfile.TemporaryDirectory() as folder:
        mine = os.path.join(folder, "mine.json")
        with open(mine, "w") as file:
            file.write('{"like": "4xt4", "host": {"speed": null}}')
        assert "host.speed" in refused("mnist", "--machine", mine, "--nodes", "1", *tensorflow)
        with open(mine, "w") as file:
            file.write('{"like": "4xt4", "host": {"speed": -1}}')
        assert "negative" in refused("mnist", "--machine", mine, "--nodes", "1", *tensorflow)


def fit(lockstep):
    """The parameters of the collectives are shown with their spread, and are what the machines' files hold."""
    answer = run(lockstep, "project", "--fit", "--json")
    assert answer == run(lockstep, "project", "--fit", "--json")
    parameters = json.loads(answer)
    assert 15 <= len(parameters) <= 30
    for one in parameters:
        assert one["least_without_a_group"] <= one["fitted"] <= one["most_without_a_group"], one
        assert 0 < one["error"] <= one["prior_deviation"], one


def all_reduce(lockstep):
    """The time of one all-reduce, by machine, nodes, ranks and bytes."""
    def us(*words):
        return json.loads(run(lockstep, "project", "all-reduce", *words, "--json"))
    one = us("--machine", "a100x8", "--nodes", "2", "--ranks", "16", "--bytes", "1048576")
    assert one["algorithm"] in ("ring", "tree", "switch") and one["protocol"] in ("LL", "LL128", "Simple")
    assert 8 <= one["ranks"] == 16 and one["nodes"] == 2 and one["us"] > 0
    assert us("--machine", "a100x8", "--ranks", "16", "--bytes", "1048576") == one  # as many nodes as they need
    assert us("--machine", "a100x8", "--nodes", "2", "--bytes", "1048576") == one  # all GPUs
    assert us("--machine", "a100x8", "--nodes", "1", "--bytes", "1048576")["us"] < one["us"]
    for machine in ("a100x8", "v100x8", "h100x8", "4xt4"):
        for ranks in (2, 3, 4):
            times = [us("--machine", machine, "--ranks", str(ranks), "--bytes", str(1 << power))["us"] for power in (10, 20, 30, 34)]
            assert times == sorted(times), (machine, ranks, times)
    assert us("--machine", "h100x8", "--bytes", "1048576", "--algorithm", "tree")["algorithm"] == "tree"
    assert "us latency" in run(lockstep, "project", "all-reduce", "--machine", "v100x8", "--bytes", "65536")

    def refused(*words):
        result = subprocess.run([lockstep, "project", *words], capture_output=True, text=True, timeout=60)
        assert result.returncode == 2 and result.stderr.count("\n") == 1 and not result.stdout, (words, result)
        return result.stderr
    assert "--bytes" in refused("all-reduce", "--machine", "a100x8")
    assert "--nodes 3" in refused("all-reduce", "--machine", "a100x8", "--nodes", "2", "--ranks", "20", "--bytes", "8")
    assert "evenly" in refused("all-reduce", "--machine", "a100x8", "--nodes", "2", "--ranks", "5", "--bytes", "8")
    assert "at least 2 ranks" in refused("all-reduce", "--machine", "t4", "--bytes", "8")
    assert "switch" in refused("all-reduce", "--machine", "a100x8", "--bytes", "8", "--algorithm", "switch")
    assert "one number" in refused("all-reduce", "--machine", "a100x8", "--nodes", "1..4", "--bytes", "8")
    assert "all-reduce" in refused("mnist", "--machine", "a100x8", "--bytes", "8")
    refused("all-reduce", "--bytes", "-1")
    refused("all-reduce", "--bytes", "many")
    refused("all-reduce", "--bytes", "8", "--batch-per-replica", "4")
    with tempfile.TemporaryDirectory() as folder:
        bad = os.path.join(folder, "bad.json")
        for text in ("{", "[]", '{"gpus": "eight"}', '{"gpus": 2, "gpu": "t4", "nccl": "pcie", "host": {"launch_us": -1}}', '{"gpus": 1}'):
            with open(bad, "w") as file:
                file.write(text)
            refused("all-reduce", "--machine", bad, "--bytes", "8")


def resnet50(lockstep):
    """Throughput, step and memory of ResNet-50: faster in a narrower precision, nearly twice as much on two GPUs, more memory with a larger batch."""
    def answer(*words):
        return json.loads(run(lockstep, "project", "resnet50", *words, "--json"))
    words = ("--machine", "a100x8", "--batch-per-replica", "128")
    fp32, tf32, amp = (answer(*words, "--gpus", "4", "--precision", precision) for precision in ("fp32", "tf32", "amp"))
    assert fp32["samples_per_second"] < tf32["samples_per_second"] < amp["samples_per_second"]
    assert amp["memory_gib"] < fp32["memory_gib"] == tf32["memory_gib"]
    for one in (fp32, tf32, amp):
        assert abs(one["samples_per_second"] * one["step_ms"] / 1000 - 4 * 128) < 1e-6 and one["fits"]
    assert answer(*words, "--inference")["samples_per_second"] > 2 * answer(*words)["samples_per_second"]
    rates = [answer(*words, "--gpus", str(n), "--precision", "amp")["samples_per_second"] / n for n in (1, 2, 4, 8)]
    assert all(0.9 * rates[0] < rate <= rates[0] for rate in rates[1:]), rates
    nodes = answer(*words, "--nodes", "1..64")["rows"]
    assert [row["gpus"] for row in nodes] == [8, 16, 32, 64, 128, 256, 512] and nodes[-1]["efficiency"] < nodes[1]["efficiency"] <= 1
    batches = [answer("--machine", "t4", "--inference", "--batch-per-replica", str(n)) for n in (1, 4, 16, 64)]
    assert all(a["samples_per_second"] < b["samples_per_second"] and a["memory_gib"] < b["memory_gib"] for a, b in zip(batches, batches[1:]))
    assert not answer("--machine", "t4", "--batch-per-replica", "512")["fits"]
    assert run(lockstep, "project", "resnet50", *words) == run(lockstep, "project", "resnet50", *words)

    def refused(*words):
        result = subprocess.run([lockstep, "project", *words], capture_output=True, text=True, timeout=60)
        assert result.returncode == 2 and result.stderr.count("\n") == 1 and not result.stdout, (words, result)
        return result.stderr
    assert "TF32" in refused("resnet50", "--machine", "v100x8", "--precision", "tf32")
    assert "--gpus" in refused("resnet50", "--machine", "v100x8", "--gpus", "9")
    assert "resnet50" in refused("mnist", "--machine", "t4", "--precision", "amp")
    refused("resnet50", "--precision", "fp64")
    refused("resnet50", "--machine", "v100x8", "--logical", "2")


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
