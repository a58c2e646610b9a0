"""What all peers share: the data, the loop that takes commands, and peak memory."""
import json
import sys
import time

import numpy as np

SHAPES = {"mnist": ((28, 28, 1), 10), "reuters": ((300,), 46), "mobilenet-v2-96": ((96, 96, 3), 2), "mobilenet-v2-224": ((224, 224, 3), 2)}


def arrays(workload, samples):
    shape, classes = SHAPES[workload]
    random = np.random.default_rng(1)
    if workload == "reuters":
        x = random.integers(0, 30982, (samples, *shape), dtype=np.int32)
    else:
        x = (random.integers(0, 256, (samples, *shape)) / 255).astype(np.float32)
    return x, random.integers(0, classes, samples, dtype=np.int32)


def peak_mib():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def say(**values):
    print(json.dumps(values), flush=True)


def serve(train):
    """`train(steps)` returns the loss, or the loss and the seconds that so many steps took; it has taken its first step already."""
    say(first_step=True)
    for line in sys.stdin:
        steps = int(line)
        begin = time.perf_counter()
        result = train(steps)
        loss, seconds = result if isinstance(result, tuple) else (result, time.perf_counter() - begin)
        say(steps=steps, seconds=seconds, loss=float(loss), peak_mib=peak_mib())
