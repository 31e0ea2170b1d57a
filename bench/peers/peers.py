"""The peers. The module of a peer is imported only if the peer is selected."""

import collections
import importlib

# `run` computes the cell once; `result` returns the bytes of the last output, None if the peer has
# another format; `note` is a remark for readers of the numbers.
Task = collections.namedtuple("Task", "run result note", defaults=(None, ""))

ALLOCATES = "allocates its output in every run, as its interface has it"

NAMES = {"onnxruntime": "peer_onnxruntime", "numpy": "peer_numpy", "torch": "peer_torch",
         "tensorflow": "peer_tensorflow", "gguf": "peer_gguf", "onednn": "peer_native",
         "xnnpack": "peer_native"}


class Peer:
    """A library to compare with: `name`, `version`, and the two functions below."""

    def can(self, cell, threads):
        """Whether the peer has an operator for the cell; task() may still raise an exception."""
        raise NotImplementedError

    def task(self, cell, tensors, y, threads):
        """A Task after all preparation; it writes to y if the peer's interface allows that."""
        raise NotImplementedError


def load(name, threads):
    """The peers of a module, with at most this number of threads."""
    return importlib.import_module(NAMES[name]).load(name, threads)
