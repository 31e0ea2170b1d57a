"""Runs TensorFlow's Dequantize for tensorflow_support.py, in a process of its own so that it can
have a preloaded library. Reads one JSON object a line, a node and the files of its tensors; writes
the output to a file and answers with a line: "done", or the name of the exception."""

import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402


def load(name, quantized=None):
    array = np.load(name)
    return tf.bitcast(array, getattr(tf, quantized)) if quantized else tf.constant(array)


def dequantize(node):
    x = load(node["x"], node["type"])
    low, high = load(node["min"]), load(node["max"])
    attributes = {"mode": node["mode"], "narrow_range": node["narrow_range"],
                  "dtype": tf.as_dtype(node["dtype"]), "axis": node["axis"]}

    def call(low, high):
        if node["interface"] == "python":
            return tf.quantization.dequantize(x, low, high, **attributes)
        return tf.raw_ops.Dequantize(input=x, min_range=low, max_range=high, **attributes)

    if node["interface"] == "graph":
        return tf.function(call)(low, high).numpy()
    if node["each"]:
        return np.stack([call(a, b).numpy() for a, b in zip(low, high, strict=True)])
    return call(low, high).numpy()


def main():
    for line in sys.stdin:
        node = json.loads(line)
        try:
            y = dequantize(node)
            np.save(node["y"], y.astype(np.float32))
            answer = "done"
        except (tf.errors.OpError, ArithmeticError, TypeError, ValueError) as e:
            answer = type(e).__name__
        print(answer, flush=True)


if __name__ == "__main__":
    main()
