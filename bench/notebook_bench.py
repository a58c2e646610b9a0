#!/usr/bin/env python3
"""How long cells take: the first with Lockstep's headers and library, and a further one; beside each that its result is right.

    bench/notebook_bench.py build/sim/notebooks/lockstep-kernel     (a Python with jupyter_client: build/notebook-venv/bin/python)

Aims: 2 s for the first cell, 0.1 s for a further one, on a machine that does nothing else. Processor time, beside it, is the same on any.
"""
import json
import os
import statistics
import sys
import tempfile
import time

from jupyter_client.manager import KernelManager

FIRST = '#pragma cling load("lockstep")\n#include <lockstep/lockstep.h>\n#include <lockstep/display.h>\nusing namespace lockstep;\nlist_gpus().size()'


def start(folder, program):
    os.makedirs(os.path.join(folder, "kernels", "xcpp17"))
    with open(os.path.join(folder, "kernels", "xcpp17", "kernel.json"), "w") as spec:
        json.dump({"argv": [os.path.abspath(program), "-f", "{connection_file}"], "display_name": "C++17", "language": "C++17"}, spec)
    os.environ["JUPYTER_DATA_DIR"] = folder
    begin = time.perf_counter()
    manager = KernelManager(kernel_name="xcpp17")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    return manager, client, time.perf_counter() - begin


def processor_seconds(process):
    """Of a process, its children and those they waited for: compilations in copies are among them."""
    with open(f"/proc/{process}/stat") as file:
        ticks = sum(int(field) for field in file.read().rsplit(")", 1)[1].split()[11:15])
    with open(f"/proc/{process}/task/{process}/children") as file:
        return ticks / os.sysconf("SC_CLK_TCK") + sum(processor_seconds(int(child)) for child in file.read().split())


def run(client, code):
    values = []

    def collect(message):
        if message["msg_type"] == "execute_result":
            values.append(message["content"]["data"]["text/plain"])

    begin = time.perf_counter()
    reply = client.execute_interactive(code, timeout=120, output_hook=collect)
    seconds = time.perf_counter() - begin
    return seconds, values[0] if reply["content"]["status"] == "ok" and values else "error"


def main():
    with tempfile.TemporaryDirectory() as folder:
        manager, client, started = start(folder, sys.argv[1])
        try:
            kernel = manager.provisioner.pid
            print(f"{'what':44} {'seconds':>8} {'processor':>10}   right")
            print(f"{'the kernel answers':44} {started:8.3f} {'':10}   yes")
            before = processor_seconds(kernel)
            seconds, value = run(client, FIRST)
            used = processor_seconds(kernel) - before
            print(f"{'first cell: headers and library':44} {seconds:8.3f} {used:10.3f}   {'yes' if value == '1' else 'NO: ' + value}")
            times, right, before = [], True, processor_seconds(kernel)
            for i in range(50):
                seconds, value = run(client, f"int number = {i};\nint twice_{i}(int n) {{ return 2 * n; }}\ntwice_{i}(number)")
                times.append(seconds)
                right = right and value == str(2 * i)
            used = (processor_seconds(kernel) - before) / 50
            print(f"{'a further cell, median of 50':44} {statistics.median(times):8.3f} {used:10.3f}   {'yes' if right else 'NO'}")
            print(f"{'a further cell, slowest of 50':44} {max(times):8.3f} {'':10}   {'yes' if right else 'NO'}")
            seconds, value = run(client, "Array ones(Shape{2, 3});\nones.size()")
            print(f"{'a first Array':44} {seconds:8.3f} {'':10}   {'yes' if value == '6' else 'NO'}")
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main()
