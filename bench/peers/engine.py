"""dequant through its C API: one plan, and repeated runs into existing memory."""

import ctypes
import os
import pathlib

from cells import BLOCK

ONNX = {"float32": 1, "uint8": 2, "int8": 3, "int16": 5, "int32": 6, "float16": 10, "bfloat16": 16,
        "float8e4m3fn": 17, "int4": 22}
MODES = {"MIN_COMBINED": 0, "MIN_FIRST": 1, "SCALED": 2}
c_int64_p = ctypes.POINTER(ctypes.c_int64)


def struct(name, *fields):
    """A struct of dequant.h, whose first field is struct_size."""
    return type(name, (ctypes.Structure,),
                {"_fields_": [("struct_size", ctypes.c_size_t), *fields]})


class Tensor(ctypes.Structure):
    _fields_ = [("element", ctypes.c_int), ("rank", ctypes.c_uint32), ("shape", c_int64_p)]


Error = struct("Error", ("code", ctypes.c_int), ("message", ctypes.c_char * 512))
Onnx = struct("Onnx", ("opset", ctypes.c_int64), ("x", Tensor), ("x_scale", Tensor),
              ("x_zero_point", Tensor), ("axis", c_int64_p), ("block_size", c_int64_p),
              ("output_dtype", c_int64_p))
TensorFlow = struct("TensorFlow", ("version", ctypes.c_int), ("input", Tensor),
                    ("min_range", Tensor), ("max_range", Tensor), ("mode", ctypes.c_int),
                    ("narrow_range", ctypes.c_int), ("raw_axis", c_int64_p),
                    ("python_axis", c_int64_p), ("dtype", ctypes.c_int),
                    ("semantics", ctypes.c_int))
Buffers = struct("Buffers", *((name + part, kind)
                              for name in ("x", "scale", "zero_point", "min_range",
                                           "max_range", "y")
                              for part, kind in (("", ctypes.c_void_p),
                                                 ("_bytes", ctypes.c_uint64))))
Options = struct("Options", ("threads", ctypes.c_int), ("parallel_for", ctypes.c_void_p),
                 ("self", ctypes.c_void_p), ("stores", ctypes.c_int))


def made(kind, **fields):
    return kind(struct_size=ctypes.sizeof(kind), **fields)


def tensor(element, shape):
    """A Tensor struct, which keeps its shape alive."""
    return Tensor(ONNX[element], len(shape), (ctypes.c_int64 * len(shape))(*shape))


def built(name):
    """Loads a shared library that compare.py built."""
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = os.environ.get("DEQUANT_PEERS") or root / "build" / "peers"
    return ctypes.CDLL(str(pathlib.Path(folder) / name))


def library():
    lib = built("libdequant.so")
    lib.dequant_active_target.restype = ctypes.c_char_p
    lib.dequant_plan_free.restype = None
    lib.dequant_plan_free.argtypes = [ctypes.c_void_p]
    lib.dequant_run.argtypes = [ctypes.c_void_p] * 4
    return lib


class Dequant:
    """A planned cell; `run()` computes y."""

    def __init__(self, lib, cell, tensors, y, threads):
        self.lib, self.plan, self.error = lib, ctypes.c_void_p(), made(Error)
        if cell.linear:
            self._check(lib.dequant_plan_onnx(self._onnx(cell, tensors), ctypes.byref(self.plan),
                                              ctypes.byref(self.error)))
        else:
            self._check(lib.dequant_plan_tensorflow(self._tensorflow(cell, tensors),
                                                    ctypes.byref(self.plan),
                                                    ctypes.byref(self.error)))
        self.kept = (tensors, y)  # keeps the memory of the buffers alive
        self.ranges = [ctypes.c_float(tensors.min_range), ctypes.c_float(tensors.max_range)]
        given = {"x": tensors.x, "y": y}
        if cell.linear:
            given["scale"] = tensors.scale
            if tensors.zero_point is not None:
                given["zero_point"] = tensors.zero_point
        self.buffers = made(Buffers)
        for name, array in given.items():
            setattr(self.buffers, name, array.ctypes.data)
            setattr(self.buffers, name + "_bytes", array.nbytes)
        if not cell.linear:
            for name, number in zip(("min_range", "max_range"), self.ranges):
                setattr(self.buffers, name, ctypes.addressof(number))
                setattr(self.buffers, name + "_bytes", 4)
        self.options = made(Options, threads=0 if threads == os.cpu_count() else threads)  # 0: all
        # Addresses as ints, which ctypes passes with the least overhead.
        self.arguments = (self.plan.value, *map(ctypes.addressof,
                                                (self.buffers, self.options, self.error)))

    def _onnx(self, cell, tensors):
        node = made(Onnx, opset=21, x=tensor(cell.x, tensors.shape),
                    x_scale=tensor(cell.y, tensors.scale_shape))
        if tensors.zero_point is not None:
            node.x_zero_point = tensor(cell.x, tensors.scale_shape)
        if cell.granularity != "per tensor":
            node.axis = ctypes.pointer(ctypes.c_int64(cell.axis))
        if cell.granularity == "blocked 32":
            node.block_size = ctypes.pointer(ctypes.c_int64(BLOCK))
        return ctypes.byref(node)

    def _tensorflow(self, cell, tensors):
        return ctypes.byref(made(TensorFlow, input=tensor(cell.x, tensors.shape),
                                 min_range=tensor("float32", ()), max_range=tensor("float32", ()),
                                 mode=MODES[cell.rule]))

    def _check(self, code):
        if code:
            raise RuntimeError(self.error.message.decode())

    def run(self):
        if self.lib.dequant_run(*self.arguments):
            raise RuntimeError(self.error.message.decode())

    def close(self):
        self.lib.dequant_plan_free(self.plan)
