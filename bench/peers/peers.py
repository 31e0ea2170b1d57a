"""Who is measured beside dequant. A module is imported only when its peer is asked for."""

import collections
import importlib

# `run` computes the cell once; `result` gives the bytes of the last output, None where the peer's
# format is another; `note` says what a reader of the numbers must know.
Task = collections.namedtuple("Task", "run result note", defaults=(None, ""))

ALLOCATES = "allocates its output in every run, as its interface has it"

NAMES = {"onnxruntime": "peer_onnxruntime", "numpy": "peer_numpy", "torch": "peer_torch",
         "tensorflow": "peer_tensorflow", "gguf": "peer_gguf", "onednn": "peer_native",
         "xnnpack": "peer_native"}


class Peer:
    """One way to compute cells: `name`, `version`, and the two functions below."""

    def can(self, cell, threads):
        """Whether it has an operator for that; what it lacks besides shows when the task is
        made."""
        raise NotImplementedError

    def task(self, cell, tensors, y, threads):
        """A Task, all that needs doing once done; outputs in y where the peer's interface lets
        them."""
        raise NotImplementedError


def load(name, threads):
    """The peers of that name, at most so many threads at work."""
    return importlib.import_module(NAMES[name]).load(name, threads)
