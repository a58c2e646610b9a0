"""Records what Keras prints as summary() of the three reference models: tests/engine/train/recorded/*.txt. Usage: record_summaries.py FOLDER"""

import os
import sys

os.environ["COLUMNS"] = "80"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers  # noqa: E402


def record(folder, name, model):
    lines = []
    model.summary(print_fn=lines.append)
    with open(os.path.join(folder, name + ".txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(line.rstrip("\n") for line in lines) + "\n")


def train_once(model, optimizer, x):
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.train_on_batch(x, np.zeros(len(x), np.int32))


def main(folder):
    os.makedirs(folder, exist_ok=True)
    mnist = keras.Sequential(
        [keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
         layers.Dense(128, activation="relu"), layers.Dense(10)])
    record(folder, "mnist", mnist)
    train_once(mnist, keras.optimizers.Adam(), np.zeros((2, 28, 28, 1), np.float32))
    record(folder, "mnist_trained", mnist)
    keras.backend.clear_session()
    reuters = keras.Sequential(
        [keras.Input((300,), dtype="int32"), layers.Embedding(30982, 7), layers.Conv1D(64, 5, activation="relu"), layers.MaxPooling1D(),
         layers.Conv1D(32, 3, activation="relu"), layers.MaxPooling1D(), layers.Flatten(), layers.Dense(46, activation="softmax")])
    record(folder, "reuters", reuters)
    train_once(reuters, keras.optimizers.Nadam(), np.zeros((2, 300), np.int32))
    record(folder, "reuters_trained", reuters)
    keras.backend.clear_session()
    record(folder, "mobilenet_v2", keras.applications.MobileNetV2(weights=None))
    keras.backend.clear_session()
    record(folder, "mobilenet_v2_features",
           keras.applications.MobileNetV2(weights=None, include_top=False, pooling="max", alpha=0.35, input_shape=(96, 160, 3)))


if __name__ == "__main__":
    main(sys.argv[1])
