"""oneDNN's reorder and XNNPACK's convert operators, through the libraries of native_*.cc."""

import ctypes

import numpy as np
from engine import ONNX, built
from peers import Peer, Task


class Native(Peer):
    def __init__(self, library):
        self.lib = built(f"lib{library}_peer.so")
        self.lib.peer_make.restype = ctypes.c_void_p
        self.lib.peer_version.restype = self.lib.peer_error.restype = ctypes.c_char_p
        self.lib.peer_run.argtypes = [ctypes.c_void_p]
        self.version = self.lib.peer_version().decode()

    def task(self, cell, tensors, y, threads):
        rows, columns = (1, *tensors.shape)[-2:]
        zero = np.zeros(tensors.scale_shape, np.int32)
        if tensors.zero_point is not None:
            zero = np.asarray(tensors.zero_points(cell)).astype(np.int32)
        scale = np.asarray(tensors.scale).astype(np.float32)
        axis = -1 if cell.granularity == "per tensor" else cell.axis
        handle = self.lib.peer_make(ONNX[cell.x], ONNX[cell.y], ctypes.c_int64(rows),
                                    ctypes.c_int64(columns), axis, threads,
                                    ctypes.c_void_p(scale.ctypes.data),
                                    ctypes.c_void_p(zero.ctypes.data),
                                    ctypes.c_void_p(tensors.x.ctypes.data),
                                    ctypes.c_void_p(y.ctypes.data))
        if not handle:
            raise RuntimeError(self.lib.peer_error().decode())
        kept = (handle, scale, zero)

        def run():
            if self.lib.peer_run(kept[0]):
                raise RuntimeError(self.lib.peer_error().decode())
        if axis >= 0 and tensors.zero_point is not None:
            return Task(run, note="one zero point for all channels: bits not compared")
        return Task(run, lambda: y)


class OneDnn(Native):
    name = "oneDNN"

    def can(self, cell, threads):
        return cell.linear and cell.granularity != "blocked 32" \
            and cell.x in ("uint8", "int8", "int32")


class Xnnpack(Native):
    name = "XNNPACK"

    def can(self, cell, threads):
        return (cell.linear and cell.granularity == "per tensor" and cell.x in ("uint8", "int8")
                and cell.y == "float32")


def load(name, threads):
    return [OneDnn(name) if name == "onednn" else Xnnpack(name)]
