"""Malformed and odd TFLite models, and how commands refuse or read them."""

import json

import numpy as np

from support import dequant
from tflite_support import Tensor, model

W = Tensor("w", "INT8", [[1, 2, 3], [4, 5, 6]], [0.5, 2.0], [1, -1], 0)
WANTED = [[0, 0.5, 1], [10, 12, 14]]


def write(folder, data):
    path = folder / "in.tflite"
    path.write_bytes(data)
    return path


def refused(folder, data, *words, code=3):
    """Both `inspect` and `convert` fail with a sentence that has the words; nothing is written."""
    source = write(folder, data)
    output = folder / "out.safetensors"
    for command in (("inspect", source), ("convert", source, "-o", output)):
        error = dequant(*command, code=code).stderr
        assert error.count("\n") == 1 and not output.exists()
        assert all(word in error for word in words), error


def read(folder, data, name="w"):
    """The floats of a tensor, and the warnings."""
    source = write(folder, data)
    dequant("extract", source, name, "-o", folder / "w.npy", "--force")
    facts = json.loads(dequant("inspect", source, "--json").stdout)
    return np.load(folder / "w.npy").tolist(), facts["warnings"]


def changed(change, *tensors):
    return model(list(tensors or (W,)), change=change)


def in_tensor(**fields):
    def change(m):
        for name, value in fields.items():
            setattr(m.subgraphs[0].tensors[0], name, value)
    return change
