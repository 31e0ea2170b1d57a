"""gguf: its dequantization in numpy, with one thread."""

import importlib.metadata

import gguf
import numpy as np
from peers import ALLOCATES, Peer, Task

KINDS = {"int4": ("Q4_0", 18), "int8": ("Q8_0", 34)}


class Gguf(Peer):
    """gguf's formats have a float16 scale within each block of 32, and no zero points."""
    name, version = "gguf", importlib.metadata.version("gguf")

    def can(self, cell, threads):
        fits = cell.granularity == "blocked 32" and cell.y == "float32" and cell.x in KINDS
        return fits and threads == 1

    def task(self, cell, tensors, y, threads):
        name, width = KINDS[cell.x]
        blocks = tensors.x.reshape(-1, width - 2)
        data = np.empty((len(blocks), width), np.uint8)
        data[:, :2] = np.full((len(blocks), 1), 0.03, np.float16).view(np.uint8)
        data[:, 2:] = blocks
        data = data.reshape(tensors.shape[0], -1)
        kind = gguf.GGMLQuantizationType[name]
        return Task(lambda: gguf.quants.dequantize(data, kind),
                    note=f"{name}, a format of its own; {ALLOCATES}")


def load(name, threads):
    return [Gguf()]
