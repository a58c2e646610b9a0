#!/usr/bin/env python3
"""Perfetto's own trace processor reads what we write: every slice, track, counter and arrow, without an error.

perfetto_reads_traces.py MAKE_TRACES. 77: the package `perfetto` is not here, or the program it downloads at first use can't be had.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    from perfetto.trace_processor import TraceProcessor
except ImportError:
    print("skipped: this Python has no package perfetto")
    sys.exit(77)


def rows(processor, query):
    return [row.__dict__ for row in processor.query(query)]


def main():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        for name in ("pictures", "texts"):
            path = os.path.join(folder, name + ".json")
            with open(path, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
            try:
                processor = TraceProcessor(trace=path)
            except (subprocess.CalledProcessError, OSError, RuntimeError) as error:
                print(f"skipped: Perfetto's trace processor can't be started here: {error}")
                return 77
            count = lambda kind: sum(event["ph"] == kind for event in events)  # noqa: E731
            found = {
                "slices": rows(processor, "select count(*) as n from slice")[0]["n"],
                "arrows": rows(processor, "select count(*) as n from flow")[0]["n"],
                "counters": rows(processor, "select count(*) as n from counter")[0]["n"],
                "errors": rows(processor, "select coalesce(sum(value), 0) as n from stats "
                                          "where severity in ('error', 'data_loss')")[0]["n"],
            }
            wanted = {"slices": count("X"), "arrows": count("s"), "counters": count("C"), "errors": 0}
            if found != wanted:
                failures.append(f"{name}: wanted {wanted}, Perfetto found {found}")
            threads = {row["name"] for row in rows(processor, "select name from thread where name is not null")}
            for event in events:
                if event["ph"] == "M" and event["name"] == "thread_name" and event["args"]["name"] not in threads:
                    failures.append(f"{name}: no track {event['args']['name']}")
            processor.close()
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


sys.exit(main())
