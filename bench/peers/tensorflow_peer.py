"""TensorFlow on one device, or MirroredStrategy over logical CPU devices: tensorflow_peer.py WORKLOAD REPLICAS BATCH SAMPLES [CROSS_DEVICE_OPS]."""
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
import common  # noqa: E402
import keras  # noqa: E402
import tensorflow as tf  # noqa: E402

WORKLOAD, REPLICAS, BATCH, SAMPLES = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
OPS = {"one-device": tf.distribute.ReductionToOneDevice, "hierarchical-copy": tf.distribute.HierarchicalCopyAllReduce}


def make():
    layers = keras.layers
    if WORKLOAD == "mnist":
        model = keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(2), layers.Flatten(),
                                  layers.Dense(128, activation="relu"), layers.Dense(10)])
        model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    elif WORKLOAD == "reuters":
        model = keras.Sequential([keras.Input((300,), dtype="int32"), layers.Embedding(30982, 7), layers.Conv1D(64, 5, activation="relu"),
                                  layers.MaxPooling1D(2), layers.Conv1D(32, 3, activation="relu"), layers.MaxPooling1D(2), layers.Flatten(),
                                  layers.Dense(46, activation="softmax")])
        model.compile(keras.optimizers.Nadam(1e-3), keras.losses.SparseCategoricalCrossentropy(),
                      metrics=[keras.metrics.SparseCategoricalAccuracy("accuracy"), keras.metrics.SparseTopKCategoricalAccuracy(5)])
    else:
        image = int(WORKLOAD.rsplit("-", 1)[1])
        model = keras.applications.MobileNetV2(input_shape=(image, image, 3), weights=None, classes=2)
        model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(), metrics=["accuracy"])
    return model


if REPLICAS > 1:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration() for _ in range(REPLICAS)])
    strategy = tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(REPLICAS)],
                                              cross_device_ops=OPS[sys.argv[5] if len(sys.argv) > 5 else "one-device"]())
else:
    strategy = tf.distribute.get_strategy()
x, y = common.arrays(WORKLOAD, SAMPLES)
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(SAMPLES, seed=3).batch(BATCH, drop_remainder=True).repeat().prefetch(2)
with strategy.scope():
    model = make()
model.fit(data, steps_per_epoch=1, epochs=1, verbose=0)


class Window(keras.callbacks.Callback):
    """Time from the end of the first step to the end of the last: each fit makes new iterators, which is start-up, not training."""

    def on_train_batch_end(self, batch, logs=None):
        self.end = time.perf_counter()
        if batch == 0:
            self.begin = self.end


def train(steps):
    window = Window()
    loss = model.fit(data, steps_per_epoch=steps, epochs=1, verbose=0, callbacks=[window]).history["loss"][-1]
    return loss, (window.end - window.begin) * steps / (steps - 1)


common.serve(train)
