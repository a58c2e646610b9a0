#!/usr/bin/env python3
"""Sits all exams: what is asked for is really in the files that the learner gets, the right answers pass, and wrong ones get their explanation.

exams_test.py PROGRAM

For each exam, with two seeds, this program reads the trace and the log with code of its own (READERS) and fills in the form from these alone. Where the seed
says what was planted, the numbers found must agree with it. Then two faults that one could take it for, a wrong number and a wrong replica are tried.
"""
import json
import pathlib
import re
import statistics
import tempfile

from support import check, finish, run

ROOT = pathlib.Path(__file__).resolve().parents[2] / "lessons" / "exams"
SEEDS = (1, 2026)


class Files:
    """The run.log and trace.json of an exam."""

    def __init__(self, folder):
        self.log = (folder / "run.log").read_text()
        trace = json.loads((folder / "trace.json").read_text()) if (folder / "trace.json").exists() else None
        if trace is None:
            return
        self.slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        self.about, self.samples = trace["otherData"]["about"], trace["otherData"]["samples"]
        self.replicas = range(self.about["replicas"])
        self.steps = sorted({slice_["args"]["step"] for slice_ in self.slices if slice_["cat"] == "update"})

    def phase(self, phase, step, replica):
        found, = [s for s in self.slices if s["cat"] == phase and s["args"]["depth"] == 0 and (s["args"]["step"], s["args"]["replica"]) == (step, replica)]
        return found

    def ms(self, name, replica):
        """Of a span in a step, the median of all steps but the first."""
        return statistics.median(s["dur"] for s in self.slices if s["name"] == name and s["args"]["replica"] == replica and s["args"]["step"] > self.steps[0]) / 1e3

    def facts(self, phase, step, name):
        return [self.phase(phase, step, r)["args"][name] for r in self.replicas]


def others(values, index):
    return statistics.median(value for i, value in enumerate(values) if i != index)


def near(a, b, part):
    return abs(a - b) <= part * abs(b)


def slow_gpu(files, planted):
    ms = [files.ms("local gradients", r) for r in files.replicas]
    replica = ms.index(max(ms))
    times = max(ms) / others(ms, replica)
    update = [files.ms("update", r) for r in files.replicas]
    check(near(times, planted["times"], 0.15), f"the replica's local gradients take {times:.2f} times as long; planted: {planted['times']:.2f}")
    check(near(max(update) / others(update, replica), times, 0.35), "and its update takes longer by about that factor")
    all_reduce = [files.ms("all-reduce bucket 0", r) for r in files.replicas]
    check(min(all_reduce) == all_reduce[replica], "its all-reduce is the shortest")
    return {"replica": replica, "times": f"{times:.2f}"}


def dead_worker(files, planted):
    steps = {}
    for worker, step in re.findall(r"\[worker (\d)\] step (\d+) done", files.log):
        steps[int(worker)] = int(step)
    complaints = {int(worker) for worker in re.findall(r"\[worker (\d)\] (?!step)", files.log)}
    silent = sorted(set(steps) - complaints)
    check(len(steps) == planted["workers"] and len(silent) == 1, f"all workers but one report an error:\n{files.log if len(silent) != 1 else ''}")
    return {"worker": silent[0], "step": steps[silent[0]]}


def different_weights(files, planted):
    step, replica = None, None
    for number in files.steps:
        sums = files.facts("barrier", number, "checksum")
        odd = [r for r in files.replicas if sums.count(sums[r]) == 1]
        if odd and step is None:
            step, replica = number, odd[0]
        check(len(set(sums)) == (1 if step is None else 2), f"step {number}: the other replicas agree")
    check(step == planted["step"], "the first step that differs is the planted one")
    return {"replica": replica, "step": step}


def local_mean(files, planted):
    alone = float(re.search(r"norm of the gradient ([\d.]+)", files.log)[1])
    times = files.phase("update", 1, 0)["args"]["gradient norm"] / alone
    check(near(times, planted["replicas"], 0.01), f"the gradient is {times:.3f} times too long on {planted['replicas']:.0f} replicas")
    losses = [float(loss) for loss in re.findall(r"^step \d+: loss ([\d.]+)", files.log, re.MULTILINE)]
    right = float(re.search(r"step 1: loss ([\d.]+)", files.log)[1])
    check(near(losses[0], planted["replicas"] * right, 0.001), "and so is the loss of step 1")
    return {"times": f"{times:.2f}", "loss": f"{losses[-1] / planted['replicas']:.4g}"}


def same_samples(files, planted):
    labels = {(one["step"], one["replica"]): one["labels"] for one in files.samples}
    pictures = {(one["step"], one["replica"]): one["pictures"]["data"] for one in files.samples}
    pairs = [(a, b) for a in files.replicas for b in files.replicas
             if a < b and all(labels[step, a] == labels[step, b] and pictures[step, a] == pictures[step, b] for step in files.steps)]
    check(pairs == [(planted["first"], planted["second"])], f"the replicas with the same samples: {pairs}")
    (a, b), = pairs
    samples = files.facts("shard", 1, "samples")
    return {"replicas": f"{b}, {a}", "samples": sum(samples) - samples[b]}


def local_statistics(files, planted):
    samples = files.facts("shard", 1, "samples")
    check(sum(samples) == planted["batch"], "the shards are the batch")
    alone, mirrored = (float(loss) for loss in re.findall(r"step 1: mean loss of the steps so far ([\d.]+)", files.log))
    losses, counts = (files.facts("local gradients", 1, name) for name in ("loss sum", "samples"))
    check(near(sum(losses) / sum(counts), mirrored, 1e-4), "the trace has the loss of step 1 on several GPUs")
    check(0.002 < abs(alone / mirrored - 1) < 0.5, f"the loss of step 1 differs by a little: {alone} and {mirrored}")
    forward = [s for s in files.slices if s["args"].get("direction") == "forward" and s["tid"] % 3 == 0]
    check(not forward, "nothing travels in forward")
    return {"samples": min(samples), "difference": f"{abs(alone - mirrored):.4g}"}


def local_metric(files, planted):
    printed = [float(loss) for loss in re.findall(r"step \d+: loss ([\d.]+)", files.log)]
    whose = [r for r in files.replicas if all(abs(files.phase("local gradients", step, r)["args"]["loss"] - loss) < 1e-4 for step, loss in zip(files.steps, printed))]
    check(len(whose) == 1 and len(printed) == len(files.steps), f"the printed loss is that of one replica: {whose}")
    sums, samples = (files.facts("local gradients", files.steps[-1], name) for name in ("loss sum", "samples"))
    return {"replica": whose[0], "loss": f"{sum(sums) / sum(samples):.4g}"}


def slow_link(files, planted):
    links = {}
    for s in files.slices:
        if s["cat"] == "all-reduce" and s["args"].get("bucket") == 0 and "to" in s["args"] and s["args"]["step"] > 1:
            links.setdefault((s["args"]["from"][0], s["args"]["to"]), []).append(s["dur"])
    ms = sorted((statistics.median(values), link) for link, values in links.items())
    (fast, _), (_, one), (slow, two) = ms[0], ms[-2], ms[-1]
    both = set(one) & set(two)
    check(len(both) == 1 and ms[-2][0] > 2 * ms[-3][0], f"two neighbouring links are slow: {ms}")
    check(1 < slow / fast < planted["times"] + 0.01, f"by a factor of {slow / fast:.2f}; planted: {planted['times']:.2f}, without what each message costs")
    gradients = [files.ms("local gradients", r) for r in files.replicas]
    replica = both.pop()
    check(gradients[replica] < 1.05 * others(gradients, replica), f"the replica does not compute longer: {gradients}")
    shard = [files.ms("shard", r) for r in files.replicas]
    check(shard[replica] > 1.3 * others(shard, replica), f"its samples come over the same link: {shard}")
    return {"replica": replica, "times": f"{slow / fast:.2f}"}


def small_buckets(files, planted):
    bytes_ = [bucket["bytes"] for bucket in files.about["buckets"]]
    check(len(bytes_) == 2 * planted["layers"] + 2, f"{len(bytes_)} buckets: one for each variable of {planted['layers']:.0f} layers and the last one")
    parameters = int(re.search(r"(\d+) parameters", files.log)[1])
    check(near(sum(bytes_), 4 * parameters, 0.04), f"all parameters are in them, each variable at a multiple of 256 bytes: {sum(bytes_)} of {4 * parameters}")
    return {"buckets": len(bytes_), "bytes": round(sum(bytes_) / len(bytes_))}


def small_rate(files, planted):
    runs = re.findall(r"global batch: (\d+), SGD, learning rate: ([\d.]+)\n((?:  epoch.*\n)+)", files.log)
    (batch, rate, first), (larger, same, second) = runs
    last = [float(re.findall(r"loss ([\d.]+)", epochs)[-1]) for epochs in (first, second)]
    check(rate == same and last[1] > 1.05 * last[0], f"the rate is the same, and the larger batch learns less: {last}")
    check(near(files.phase("update", 1, 0)["args"]["learning rate"], float(rate), 1e-4), "the trace has the rate too")
    return {"rate": f"{float(rate) * int(larger) / int(batch):.3g}"}


def late_backward(files, planted):
    backward, forward = ([files.ms(name, r) for r in files.replicas] for name in ("backward", "forward"))
    replica = backward.index(max(backward))
    more = max(backward) - others(backward, replica)
    check(near(more, planted["ms"], 0.25), f"its backward is longer by {more:.1f} ms; planted: {planted['ms']:.0f}")
    check(forward[replica] - others(forward, replica) < planted["ms"] / 4, f"and its forward is not: {forward}")
    return {"replica": replica, "ms": f"{more:.1f}"}


def slow_input(files, planted):
    gaps = {}
    for step in files.steps[1:]:
        ended = max(b["ts"] + b["dur"] for b in (files.phase("barrier", step - 1, r) for r in files.replicas))
        gaps[step] = (min(files.phase("shard", step, r)["ts"] for r in files.replicas) - ended) / 1e3
    late = [step for step, ms in gaps.items() if ms > planted["ms"] / 2]
    check(len({b - a for a, b in zip(late, late[1:])}) == 1, f"steps that begin late: {late}")
    ms = statistics.median(gaps[step] for step in late)
    check(near(ms, planted["ms"], 0.25), f"no GPU has work for {ms:.1f} ms; planted: {planted['ms']:.0f}")
    return {"every": late[1] - late[0], "ms": f"{ms:.1f}"}


READERS = [slow_gpu, dead_worker, different_weights, local_mean, same_samples, local_statistics, local_metric, slow_link, small_buckets, small_rate, late_backward,
           slow_input]


def exam(*words, folder):
    return run("exam", *map(str, words), folder=folder, LOCKSTEP_LESSON_WORK=str(folder))


def form_with(folder, answers):
    """The exam's own form, with these answers written behind the colons."""
    lines = (folder / "form.txt").read_text().splitlines()
    fields = [line[:-1] for line in lines if line.endswith(":") and not line.startswith("#")]
    check(fields == list(answers), f"the form asks for {fields}")
    (folder / "filled.txt").write_text("\n".join(f"{line} {answers[line[:-1]]}" if line[:-1] in answers and line.endswith(":") else line for line in lines) + "\n")
    return folder / "filled.txt"


def sections(page):
    parts = re.split(r"^## (.*)\n", page.read_text(), flags=re.MULTILINE)
    return {heading: text.split() for heading, text in zip(parts[1::2], parts[2::2])}


def grade(form, folder):
    result = exam("--answer", form, "--json", folder=folder)
    graded = json.loads(result.stdout)
    check((result.returncode == 0) == graded["passed"], f"exit code {result.returncode} and passed: {graded['passed']}")
    return graded


def sit(number, reader, seed, work):
    page, = ROOT.glob(f"{number:02}-*")
    text = sections(page / "solution.md")
    started = exam(number, "--seed", seed, folder=work)
    folder = work / f"exam-{number:02}-seed-{seed}"
    if not check(started.returncode == 0 and "form.txt" in started.stdout, f"exam {number}, seed {seed} starts {started.stderr}"):
        return None
    solution = json.loads(exam(number, "--seed", seed, "--solution", "--json", folder=work).stdout)
    planted, fault = solution["planted"], solution["form"]["fault"]
    told = (folder / "run.log").read_text() + started.stdout
    check(fault not in told and not (folder / "machine.json").exists(), "the learner is not told the answer")
    answers = {"fault": fault, **reader(Files(folder), planted)}
    for name, value in planted.items():
        check(name not in ("replica", "worker", "every") or answers[name] == value, f"{name} is as planted: {value:.0f}")

    graded = grade(form_with(folder, answers), work)
    check(graded["passed"] and graded["right"] == graded["of"] == len(answers), f"the answers read from the files pass: {graded['answers']}")
    check("{" not in graded.get("reasoning", "{"), "the reasoning is shown with the run's numbers")

    wrong = [heading[4:] for heading in text if heading.startswith("Not ")]
    check(len(wrong) >= 2, f"at least two plausible faults are explained: {wrong}")
    for other in wrong:
        graded = grade(form_with(folder, {**answers, "fault": other}), work)
        failed = [one for one in graded["answers"] if not one["right"]]
        check(not graded["passed"] and [one["field"] for one in failed] == ["fault"] and failed[0]["explanation"].split() == text["Not " + other]
              and "reasoning" not in graded, f"{other} fails with its explanation")
    for field, value in list(answers.items())[1:]:
        off = f"{float(value) * 1.5 + 1:.4g}" if "," not in str(value) else "0, 99"
        graded = grade(form_with(folder, {**answers, field: off}), work)
        failed = [one for one in graded["answers"] if not one["right"]]
        check([one["field"] for one in failed] == [field] and failed[0]["explanation"].split() == text[field], f"{field}: {off} fails, and how to find it is explained")
    return answers


def refusals(work):
    """What can't be understood is refused in one sentence, with exit code 2."""
    folder = work / f"exam-07-seed-{SEEDS[0]}"
    good = form_with(folder, {"fault": "", "replica": "", "loss": ""}).read_text()
    for text, sentence in [
            (good.replace("fault: ", "fault: local-metrik"), "did you mean local-metric?"),
            (good.replace("replica: ", "replicas: 1"), "is not a field of this form; did you mean replica?"),
            (good.replace("seed: ", "sead: "), 'the form has no line "seed: NUMBER"'),
            (good.replace("loss: ", "loss: 2.2 nats"), "is not a number. Fix: write the number alone"),
            (good + "it is slow\n", "an answer is a line such as")]:
        (folder / "bad.txt").write_text(text)
        result = exam("--answer", folder / "bad.txt", folder=work)
        check(result.returncode == 2 and sentence in result.stderr and not result.stdout, f"refused: {sentence} {result.stderr.strip()}")
    (folder / "bad.txt").write_text(good)
    result = exam(3, "--answer", folder / "bad.txt", folder=work)
    check(result.returncode == 2 and "is the form of exam 7, not of exam 3" in result.stderr, "the form of another exam is refused")
    result = exam("--answer", folder / "bad.txt", folder=work)
    check(result.returncode == 1 and "0 of 3 answers are right" in result.stdout and "does not say what is wrong" in result.stdout, "an empty form has nothing right")
    result = exam(13, folder=work)
    check(result.returncode == 1 and "they go from 1 to 12" in result.stderr, "there is no exam 13")


kinds = sections(ROOT / "faults.md")
with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    for number, reader in enumerate(READERS, 1):
        page, = ROOT.glob(f"{number:02}-*")
        for heading in sections(page / "solution.md"):
            check(not heading.startswith("Not ") or heading[4:] in kinds, f"{page.name}: {heading} is one of the faults")
        both = [sit(number, reader, seed, work) for seed in SEEDS]
        check(both[0] != both[1], f"exam {number}: another seed has other answers")
    refusals(work)
    listed = exam(folder=work)
    check(listed.returncode == 0 and len(re.findall(r"^ +\d+  ", listed.stdout, re.MULTILINE)) == len(READERS), "the list has all exams")

    # Each student another run, and the same run for the same seed on every computer.
    losses = {json.loads(exam(7, "--seed", seed, "--solution", "--json", folder=work).stdout)["form"]["loss"] for seed in range(100, 112)}
    check(len(losses) == 12, f"12 seeds give {len(losses)} different answers")
    again = work / "again"
    again.mkdir()
    exam(1, "--seed", SEEDS[0], folder=again)
    first, second = ((place / f"exam-01-seed-{SEEDS[0]}" / "trace.json").read_bytes() for place in (work, again))
    check(first == second, "the same seed gives the same trace, byte for byte")
    graded = grade(form_with(work / f"exam-03-seed-{SEEDS[0]}", {"fault": "different-weights", "replica": 0, "step": 0}), again)
    check([one["right"] for one in graded["answers"]][0] and graded["of"] == 3, "a teacher grades a form alone: the run is made again")
finish()
