#!/usr/bin/env python3
"""What a training step costs TensorFlow's host, apart from arithmetic: simulator/clock/tensorflow_host.json.

host_costs.py [--json FILE] [--rounds N] [--steps N]     (./lockstep bench --host-costs [FILE])

Steps of MirroredStrategy on 1, 2 and 4 logical CPU devices with layers so small that nearly no arithmetic is left. Chains of layers vary the
numbers of operations and of variables independently, and least squares of the relative errors give four costs in microseconds:

    step + op x operations + (with several replicas) replica x replicas + merge x replicas x variables

Operations are those of all replicas: they are dispatched one after another (on two cores two replicas cost what they cost on one). Then the
reference programs, made small, are measured too and compared with what the costs say of them; they take no part in the fit. Their operations
and variables are counted in the traced step, without XLA, as in TensorFlow before 2.16, where Keras did not ask for it.
"""
import argparse
import collections
import datetime
import json
import os
import statistics
import subprocess
import sys
import time

REPLICAS = (1, 2, 4)
# Dense layers, activations after them, optimizer.
CHAINS = ((1, 0, "SGD"), (15, 0, "SGD"), (30, 0, "SGD"), (1, 300, "SGD"), (1, 600, "SGD"), (15, 300, "SGD"), (10, 0, "Adam"), (20, 100, "Adam"))
COSTS = ("step_us", "op_us", "replica_us", "merge_us")
# Nodes of a graph that compute nothing on a device: they name, pass on or describe what is there.
PASSIVE = {"Const", "Placeholder", "Identity", "NoOp", "ReadVariableOp", "AssignVariableOp", "IteratorGetNext", "Shape", "Reshape", "ExpandDims",
           "Squeeze", "StridedSlice", "Pack", "Range", "Prod"}


def fit_costs(rows):
    """Least squares of (modelled - measured) / measured over the rows."""
    import numpy as np
    weights = 1 / np.array([row["us"] for row in rows])
    terms = np.array([terms_of(row) for row in rows])
    costs, *_ = np.linalg.lstsq(terms * weights[:, None], np.ones(len(rows)), rcond=None)
    return dict(zip(COSTS, (float(cost) for cost in costs)))


def terms_of(row):
    several = row["replicas"] if row["replicas"] > 1 else 0
    return [1, row["ops"], several, several * row["variables"]]


def counts_of(rows, program):
    """Operations of one device alone, and of each of several replicas."""
    ops = {row["replicas"]: row["ops"] for row in rows if row["program"] == program["program"]}
    return {"ops_alone": ops[1], "ops_each": ops[2] / 2, "variables": program["variables"]}


def modelled_us(costs, row):
    return sum(costs[name] * term for name, term in zip(COSTS, terms_of(row)))


class Measurement:
    """One process: so many logical devices, all programs in turns."""

    def __init__(self, replicas):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import keras
        import numpy
        import tensorflow
        self.keras, self.np, self.tf, self.replicas = keras, numpy, tensorflow, replicas
        if replicas > 1:
            cpu = self.tf.config.list_physical_devices("CPU")[0]
            self.tf.config.set_logical_device_configuration(cpu, [self.tf.config.LogicalDeviceConfiguration() for _ in range(replicas)])
            self.strategy = self.tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(replicas)],
                                                                cross_device_ops=self.tf.distribute.ReductionToOneDevice())
        else:
            self.strategy = self.tf.distribute.get_strategy()

    def chain(self, dense, activations, optimizer):
        layers = self.keras.layers
        parts = [self.keras.Input((4,))] + [layers.Dense(4) for _ in range(dense)] + [layers.Activation("tanh") for _ in range(activations)]
        return self.compiled(self.keras.Sequential(parts + [layers.Dense(2)]), getattr(self.keras.optimizers, optimizer)(), ["accuracy"])

    def compiled(self, model, optimizer, metrics):
        model.compile(optimizer, self.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=metrics, jit_compile=False)
        return model

    # The reference programs (docs/reference-programs.md) with narrow layers: the same operations, no work.
    def mnist(self):
        layers = self.keras.layers
        return self.compiled(self.keras.Sequential([self.keras.Input((6, 6, 1)), layers.Conv2D(1, 3, activation="relu"), layers.MaxPooling2D(2),
                                                    layers.Flatten(), layers.Dense(2, activation="relu"), layers.Dense(2)]),
                             self.keras.optimizers.Adam(1e-3), ["accuracy"])

    def reuters(self):
        layers = self.keras.layers
        return self.compiled(self.keras.Sequential([self.keras.Input((24,), dtype="int32"), layers.Embedding(8, 2), layers.Conv1D(2, 5, activation="relu"),
                                                    layers.MaxPooling1D(2), layers.Conv1D(2, 3, activation="relu"), layers.MaxPooling1D(2),
                                                    layers.Flatten(), layers.Dense(6, activation="softmax")]),
                             self.keras.optimizers.Nadam(1e-3),
                             [self.keras.metrics.SparseCategoricalAccuracy("accuracy"), self.keras.metrics.SparseTopKCategoricalAccuracy(5)])

    def cats_vs_dogs(self):
        return self.compiled(self.keras.applications.MobileNetV2(input_shape=(32, 32, 3), alpha=0.35, weights=None, classes=2),
                             self.keras.optimizers.Adam(1e-3), ["accuracy"])

    def data_of(self, model):
        shape = model.input_shape[1:]
        random = self.np.random.default_rng(1)
        x = random.integers(0, 8, (32, *shape)).astype(model.inputs[0].dtype)
        data = self.tf.data.Dataset.from_tensor_slices((x, random.integers(0, 2, 32, dtype=self.np.int32)))
        return data.batch(2 * self.replicas, drop_remainder=True).repeat().prefetch(2)

    def ops_of(self, model, data):
        """Operations of a step, on all replicas, from its traced function and the functions that this calls; the model has taken a step."""
        data = data if self.replicas == 1 else self.strategy.experimental_distribute_dataset(data)
        model.make_train_function()
        traced = next(cell.cell_contents for cell in model.train_function.__closure__ if hasattr(cell.cell_contents, "get_concrete_function"))
        graph = traced.get_concrete_function(iter(data)).graph.as_graph_def()
        functions = {function.signature.name: function.node_def for function in graph.library.function}
        kinds = collections.Counter()

        def walk(nodes):
            for node in nodes:
                if node.op in ("PartitionedCall", "StatefulPartitionedCall"):
                    walk(functions[node.attr["f"].func.name])
                elif node.op not in PASSIVE:
                    kinds[node.op] += 1
        walk(graph.node)
        return sum(kinds.values())

    def time_of(self, model, data, steps):
        times = []
        watch = self.keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: times.append(time.perf_counter()))
        model.fit(data, steps_per_epoch=steps, epochs=1, verbose=0, callbacks=[watch])
        gaps = [1e6 * (after - before) for before, after in zip(times, times[1:])]
        return statistics.median(gaps[len(gaps) // 10:])

    def run(self, rounds, steps):
        programs = []
        with self.strategy.scope():
            for chain in CHAINS:
                programs.append(("{} dense, {} tanh, {}".format(*chain), "chain", self.chain(*chain)))
            programs += [("mnist", "reference", self.mnist()), ("reuters", "reference", self.reuters())]
        rows = []
        for name, kind, model in programs:
            data = self.data_of(model)
            rows.append({"program": name, "kind": kind, "replicas": self.replicas, "variables": len(model.trainable_variables), "model": model,
                         "data": data, "times": []})
        for _ in range(rounds):
            for row in rows:
                row["times"].append(self.time_of(row["model"], row["data"], steps))
        for row in rows:
            row["ops"] = self.ops_of(row["model"], row["data"])
        rows = [{**{key: value for key, value in row.items() if key not in ("model", "data", "times")}, "us": min(row["times"])} for row in rows]
        if self.replicas <= 2:  # the others follow from these
            with self.strategy.scope():
                model = self.cats_vs_dogs()
            data = self.data_of(model)
            model.fit(data, steps_per_epoch=1, verbose=0)
            rows.append({"program": "cats-vs-dogs", "kind": "counted", "replicas": self.replicas, "variables": len(model.trainable_variables),
                         "ops": self.ops_of(model, data)})
        return rows, {"tensorflow": self.tf.__version__, "keras": self.keras.__version__}


def this_cpu():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith(("model name", "cpu family"))]
    return f"{os.cpu_count()} x {names[1]}, family {names[0]}" if len(names) > 1 else "unknown"


def measure(replicas, rounds, steps):
    words = [sys.executable, os.path.abspath(__file__), "--replicas", str(replicas), "--rounds", str(rounds), "--steps", str(steps)]
    result = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return json.loads(result.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", help="write what was found here")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--replicas", type=int, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.replicas:
        print(json.dumps(Measurement(words.replicas).run(words.rounds, words.steps)))
        return
    rows, versions = [], {}
    for replicas in REPLICAS:
        found, versions = measure(replicas, words.rounds, words.steps)
        rows += found
    costs = fit_costs([row for row in rows if row["kind"] == "chain"])
    print(f"{'program':<28}{'replicas':>9}{'ops':>7}{'variables':>10}{'us a step':>11}{'model':>9}{'error':>8}")
    for row in (row for row in rows if "us" in row):
        model = modelled_us(costs, row)
        print(f"{row['program']:<28}{row['replicas']:>9}{row['ops']:>7}{row['variables']:>10}{row['us']:>11.0f}{model:>9.0f}"
              f"{100 * (model / row['us'] - 1):>+7.0f}%{'  not fitted' if row['kind'] == 'reference' else ''}")
    print(", ".join(f"{name} {cost:.3f}" for name, cost in costs.items()))
    if words.json:
        measured = [{**row, "us": round(row["us"], 1)} for row in rows if "us" in row]
        text = {"measured": {"date": datetime.date.today().isoformat(), **versions, "cpu": this_cpu(), "made_by": "bench/peers/host_costs.py"},
                "costs": {name: round(cost, 3) for name, cost in costs.items()},
                "programs": {row["program"]: counts_of(rows, row) for row in rows if row["replicas"] == 1 and row["kind"] != "chain"},
                "rows": measured}
        with open(words.json, "w", encoding="ascii") as file:
            rows_text = ",\n".join("    " + json.dumps(row) for row in text.pop("rows"))
            file.write(json.dumps(text, indent=2)[:-2] + ',\n  "rows": [\n' + rows_text + "\n  ]\n}\n")


if __name__ == "__main__":
    main()
