"""TensorFlow: raw_ops.Dequantize, eager, on existing tensors."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from peers import ALLOCATES, Peer, Task  # noqa: E402


class TensorFlow(Peer):
    name, version = "TensorFlow", tf.__version__

    def can(self, cell, threads):
        return not cell.linear

    def task(self, cell, tensors, y, threads):
        x = tf.bitcast(tf.constant(tensors.x), tf.quint8)
        low, high = tf.constant(tensors.min_range), tf.constant(tensors.max_range)
        last = []

        def run():
            last[:] = []  # frees the last result, so that its memory can be reused
            last.append(tf.raw_ops.Dequantize(input=x, min_range=low, max_range=high,
                                              mode=cell.rule))
        return Task(run, lambda: last[0].numpy().view(np.uint8), ALLOCATES)


def load(name, threads):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    return [TensorFlow()]
