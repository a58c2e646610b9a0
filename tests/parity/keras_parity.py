"""The reference models through real Keras, both ways and in every form of file.

We train two steps and save: Keras loads, predicts the same, and one more step of its own ends in the same weights, which needs the whole
state of the optimizer. Then the other way round. Usage: keras_parity.py PARITY_TOOL mnist|reuters|mobilenet_v2
"""

import os
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers  # noqa: E402

FORMS = ("keras", "h5", "weights.h5")


def mnist():
    model = keras.Sequential(
        [keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
         layers.Dense(128, activation="relu"), layers.Dense(10)])
    return model, keras.optimizers.Adam(1e-3), True


def reuters():
    model = keras.Sequential(
        [keras.Input((300,), dtype="int32"), layers.Embedding(2000, 7), layers.Conv1D(64, 5, activation="relu"), layers.MaxPooling1D(),
         layers.Conv1D(32, 3, activation="relu"), layers.MaxPooling1D(), layers.Flatten(), layers.Dense(46, activation="softmax")])
    return model, keras.optimizers.Nadam(1e-3), False


def mobilenet_v2():
    model = keras.applications.MobileNetV2((96, 96, 3), alpha=0.35, weights=None, classes=2, classifier_activation=None)
    return model, keras.optimizers.Adam(1e-3), True


MODELS = {"mnist": (mnist, 1e-5), "reuters": (reuters, 1e-5), "mobilenet_v2": (mobilenet_v2, 1e-4)}


def make(name):
    keras.backend.clear_session()
    keras.utils.set_random_seed(7)
    model, optimizer, from_logits = MODELS[name][0]()
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=from_logits), metrics=["accuracy"])
    return model


def samples(name):
    random = np.random.default_rng(5)
    if name == "reuters":
        x = random.integers(1, 2000, (16, 300), dtype=np.int32)
        x[:, :150] = 0  # repeated rows, as padding makes them
        return x, random.integers(0, 46, 16, dtype=np.int32)
    shape = (32, 28, 28, 1) if name == "mnist" else (8, 96, 96, 3)
    return random.random(shape, dtype=np.float32), random.integers(0, 10 if name == "mnist" else 2, shape[0], dtype=np.int32)


def relative(ours, theirs):
    difference = np.sqrt(sum(np.sum((a.astype(np.float64) - b) ** 2) for a, b in zip(ours, theirs)))
    return difference / np.sqrt(sum(np.sum(b.astype(np.float64) ** 2) for b in theirs))


def weights_of(path, model):
    """A weights file's variables in the order of the model's."""
    counts, values = {}, []
    with h5py.File(path) as file:
        for layer in model.layers:
            base = keras.src.utils.naming.to_snake_case(type(layer).__name__)
            number = counts.get(base, 0)
            counts[base] = number + 1
            group = file["layers"].get(base if number == 0 else f"{base}_{number}")
            values += [group["vars"][str(i)][()] for i in range(len(layer.weights))] if layer.weights else []
    return values


def run(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr}")


class Judge:
    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.failed = False

    def compare(self, what, ours, theirs):
        error = relative(ours, theirs)
        bad = not error <= self.tolerance
        self.failed = self.failed or bad
        print(f"{what}: relative L2 {error:.2e} (at most {self.tolerance:.0e}){'  FAILED' if bad else ''}")


def load_in_keras(name, path):
    if path.endswith(".keras"):
        return keras.models.load_model(path)
    model = make(name)
    model.optimizer.build(model.trainable_variables)
    if path.endswith(".weights.h5"):
        model.load_weights(path)
        return model
    # From the older form Keras 3 makes an optimizer without any state, from its own files too. So the model is what it loaded, and the
    # optimizer's values, in the order Keras wrote them once, go into a fresh one.
    model.set_weights(keras.models.load_model(path).get_weights())
    with h5py.File(path) as file:
        group = file["optimizer_weights"]
        values = [group[name][()] for name in group.attrs["weight_names"]]
    for to, value in zip(model.optimizer.variables, values, strict=True):
        to.assign(value)
    return model


def main(tool, name):
    judge = Judge(MODELS[name][1])
    x, y = samples(name)
    with tempfile.TemporaryDirectory() as folder:
        def at(file):
            return os.path.join(folder, file)

        def predictions():
            return np.fromfile(at("predictions.bin"), np.float32).reshape(len(x), -1)

        x.tofile(at("x.bin"))
        y.tofile(at("y.bin"))

        run([tool, "make", name, folder])
        ours = predictions()
        after = weights_of(at("after.weights.h5"), make(name))
        for form in FORMS:
            model = load_in_keras(name, at("ours." + form))
            assert int(model.optimizer.iterations) == 2, f"{form}: {int(model.optimizer.iterations)} steps"
            judge.compare(f"{name}, our .{form} in Keras, predictions", [ours], [model.predict(x, verbose=0)])
            model.train_on_batch(x, y)
            judge.compare(f"{name}, our .{form} in Keras, weights after one more step", after, model.get_weights())

        model = make(name)
        for _ in range(2):
            model.train_on_batch(x, y)
        for form in ("keras", "h5"):
            model.save(at("theirs." + form))
        model.save_weights(at("theirs.weights.h5"))
        theirs = model.predict(x, verbose=0)
        model.train_on_batch(x, y)
        for form in FORMS:
            run([tool, "use", name, folder, at("theirs." + form)])
            judge.compare(f"{name}, Keras' .{form} here, predictions", [predictions()], [theirs])
            judge.compare(f"{name}, Keras' .{form} here, weights after one more step", weights_of(at("after.weights.h5"), model),
                          model.get_weights())
    return 1 if judge.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
