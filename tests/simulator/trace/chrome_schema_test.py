#!/usr/bin/env python3
"""What we write is a Chrome trace ("Trace Event Format") as Perfetto's importer takes it: every event has the fields of its kind, of their
types, and no others; slices of a thread nest or follow one another (Perfetto drops those that overlap); arrows have two ends that lie on
slices; threads and processes are named and sorted once.

chrome_schema_test.py MAKE_TRACES. Traces that were spoilt on purpose, in some sixty ways, must be refused.
"""
import copy
import json
import os
import subprocess
import sys
import tempfile

PHASES = ["replicate", "shard", "local gradients", "all-reduce", "update", "barrier"]
NUMBER, TEXT = (int, float), (str,)
BASE = {"ph": TEXT, "pid": (int,), "tid": (int,)}
FIELDS = {
    "M": {"name": TEXT, "args": (dict,)},
    "X": {"name": TEXT, "cat": TEXT, "ts": NUMBER, "dur": NUMBER, "cname": TEXT, "args": (dict,)},
    "s": {"name": TEXT, "cat": TEXT, "id": (int,), "ts": NUMBER},
    "f": {"name": TEXT, "cat": TEXT, "id": (int,), "ts": NUMBER, "bp": TEXT},
    "C": {"name": TEXT, "ts": NUMBER, "args": (dict,)},
}
NAMES = {"process_name": ("name", TEXT), "thread_name": ("name", TEXT),
         "process_sort_index": ("sort_index", (int,)), "thread_sort_index": ("sort_index", (int,))}


def is_a(value, types):
    return isinstance(value, types) and not isinstance(value, bool)


def ns(microseconds):
    return round(microseconds * 1000)


def check_fields(event):
    kind = event.get("ph")
    if kind not in FIELDS:
        return f"of no known kind: {event}"
    wanted = {**BASE, **FIELDS[kind]}
    if set(event) != set(wanted):
        return f"fields {sorted(set(event) ^ set(wanted))} are missing or unknown: {event}"
    for field, types in wanted.items():
        if not is_a(event[field], types):
            return f"{field} is of a wrong type: {event}"
        if field in ("ts", "dur", "tid") and event[field] < 0 or field == "pid" and event[field] < 1:
            return f"{field} is too small: {event}"
        if field == "name" and not event[field]:
            return f"no name: {event}"
    args = event.get("args")
    if kind == "M":
        key, types = NAMES.get(event["name"], (None, None))
        if key is None or set(args) != {key} or not is_a(args[key], types):
            return f"strange metadata: {event}"
    if kind == "C" and (set(args) != {"bytes"} or not is_a(args["bytes"], (int,)) or args["bytes"] < 0):
        return f"strange counter: {event}"
    if kind == "X":
        if event["cat"] not in PHASES:
            return f"no phase: {event}"
        if not all(is_a(args.get(key), (int,)) and args[key] >= least for key, least in (("step", 1), ("replica", 0), ("depth", 0))):
            return f"step, replica or depth: {event}"
    if kind == "f" and event["bp"] != "e":
        return f"an arrow's head that binds to what comes next: {event}"
    return None


def check_tracks(threads):
    for thread, slices in threads.items():
        open_ones = []
        for begin, end, name in sorted(slices, key=lambda one: (one[0], -one[1])):
            while open_ones and open_ones[-1][1] <= begin:
                open_ones.pop()
            if open_ones and end > open_ones[-1][1]:
                return f"thread {thread}: {name} and {open_ones[-1][2]} overlap"
            open_ones.append((begin, end, name))
    return None


def check_arrows(events, threads):
    ends = {}
    for event in events:
        if event["ph"] in "sf":
            ends.setdefault(event["id"], []).append(event)
    for number, both in ends.items():
        if [event["ph"] for event in both] != ["s", "f"] or both[0]["name"] != both[1]["name"] or both[0]["ts"] > both[1]["ts"]:
            return f"arrow {number} is not one tail and then one head"
        for end in both:
            at = ns(end["ts"])
            if not any(begin <= at <= last for begin, last, _ in threads.get((end["pid"], end["tid"]), [])):
                return f"arrow {number} ends in the air"
    return None if ends else "no arrow at all"


def check(trace):
    """None, or what is wrong."""
    if not isinstance(trace, dict) or trace.get("displayTimeUnit") != "ms" or not isinstance(trace.get("traceEvents"), list):
        return "not an object with traceEvents and displayTimeUnit"
    other = trace.get("otherData")
    if not isinstance(other, dict) or other.get("producer") != "Lockstep" or not {"worker", "about", "figures", "samples"} <= set(other):
        return "otherData is not there, or not whole"
    events = trace["traceEvents"]
    for event in events:
        problem = check_fields(event)
        if problem:
            return problem
    threads, named, cells = {}, {}, {}
    for event in events:
        if event["ph"] == "X":
            threads.setdefault((event["pid"], event["tid"]), []).append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]), event["name"]))
            if event["args"]["depth"] == 0:
                cells.setdefault((event["args"]["step"], event["args"]["replica"]), set()).add(event["cat"])
        if event["ph"] == "M":
            key = (event["name"], event["pid"], event["tid"])
            if key in named:
                return f"named twice: {event}"
            named[key] = True
    for pid, tid in threads:
        for wanted in (("thread_name", pid, tid), ("thread_sort_index", pid, tid), ("process_name", pid, 0), ("process_sort_index", pid, 0)):
            if wanted not in named:
                return f"without {wanted[0]}: process {pid}, thread {tid}"
    for cell, phases in cells.items():
        if phases != set(PHASES):
            return f"step {cell[0]}, replica {cell[1]} has phases {sorted(phases)}"
    if not any(event["ph"] == "C" for event in events):
        return "no counter at all"
    return check_tracks(threads) or check_arrows(events, threads)


def spoilt(trace):
    """Name and copy, one thing wrong in each."""
    def other(change):
        one = copy.deepcopy(trace)
        change(one)
        return one

    def first(one, kind):
        return next(event for event in one["traceEvents"] if event["ph"] == kind)

    for kind, fields in FIELDS.items():
        for field in {**BASE, **fields}:
            yield f"{kind} without {field}", other(lambda one, k=kind, f=field: first(one, k).pop(f))
        yield f"{kind} with more", other(lambda one, k=kind: first(one, k).update(more=1))
    for kind in "XsfC":
        yield f"{kind} with a text for a time", other(lambda one, k=kind: first(one, k).update(ts="1"))
        yield f"{kind} before the beginning", other(lambda one, k=kind: first(one, k).update(ts=-1))
    yield "a negative duration", other(lambda one: first(one, "X").update(dur=-0.001))
    yield "an unknown phase", other(lambda one: first(one, "X").update(cat="nap"))
    yield "no step", other(lambda one: first(one, "X")["args"].pop("step"))
    yield "a counter of text", other(lambda one: first(one, "C")["args"].update(bytes="many"))
    yield "two events the same name", other(lambda one: one["traceEvents"].append(first(one, "M")))
    yield "a thread without a name", other(lambda one: one["traceEvents"].remove(
        next(event for event in one["traceEvents"] if event["name"] == "thread_name")))
    yield "an arrow without a head", other(lambda one: one["traceEvents"].remove(first(one, "f")))
    yield "an arrow in the air", other(lambda one: first(one, "f").update(ts=1e12))
    yield "an arrow back in time", other(lambda one: first(one, "s").update(ts=first(one, "f")["ts"] + 1))

    def overlap(one):
        whole = next(
            event for event in one["traceEvents"] if event["ph"] == "X" and event["cat"] == "local gradients" and event["args"]["depth"] == 0)
        one["traceEvents"].append({**whole, "ts": whole["ts"] + whole["dur"] / 2})
    yield "slices that overlap", other(overlap)

    def sticks_out(one):
        part = next(event for event in one["traceEvents"] if event["ph"] == "X" and event["args"]["depth"] == 2)
        part["dur"] += 1e6
    yield "a part that outlives its whole", other(sticks_out)

    def no_update(one):
        one["traceEvents"] = [event for event in one["traceEvents"] if event.get("cat") != "update"]
    yield "no update", other(no_update)
    yield "no arrows", other(lambda one: one.update(traceEvents=[event for event in one["traceEvents"] if event["ph"] not in "sf"]))
    yield "no producer", other(lambda one: one["otherData"].pop("producer"))
    yield "no unit", other(lambda one: one.pop("displayTimeUnit"))


def main():
    failures, refused = [], 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True, stdout=subprocess.DEVNULL)
        for name in ("pictures", "texts"):
            with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
                trace = json.load(file)
            problem = check(trace)
            if problem:
                failures.append(f"{name}: {problem}")
            print(f"{name}: {len(trace['traceEvents'])} events")
        for name, one in spoilt(trace):
            refused += 1
            if check(one) is None:
                failures.append(f"not noticed: {name}")
    print(f"{refused} spoilt traces refused" if not failures else "\n".join("FAILED: " + failure for failure in failures))
    return 1 if failures else 0


sys.exit(main())
