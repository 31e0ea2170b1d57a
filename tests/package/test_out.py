"""`out` is written where it is what the result is, and left alone where it is not."""

import array
import mmap

import ml_dtypes
import numpy as np
import pytest

import dequant

X = np.uint8([[1, 2, 3], [4, 5, 6]])
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def into(out, output_dtype="float32", x=X):
    return dequant.onnx.dequantize_linear(x, 0.5, output_dtype=output_dtype, out=out)


class Exporter:
    """Memory of numpy by DLPack, from a library that numpy does not know."""

    def __init__(self, data, device=(1, 0)):
        self.data, self.device = data, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        return self.data.__dlpack__(**options)


class OldExporter(Exporter):
    """By DLPack before 1.0, as jax does, whose arrays never change."""

    def __dlpack__(self, stream=None):
        return self.data.__dlpack__()


def memory(kind, values):
    """An object, and an array that shows what it holds."""
    data = values.copy()
    views = {"array": lambda: data, "subclass": lambda: data.view(type("Named", (np.ndarray,), {})),
             "memoryview": lambda: memoryview(data), "DLPack": lambda: Exporter(data),
             "row of a larger one": lambda: data[None][0]}
    return views[kind](), data


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("kind",
                         ["array", "subclass", "memoryview", "DLPack", "row of a larger one"])
def test_out_is_written_and_returned(kind, dtype):
    out, data = memory(kind, np.zeros((2, 3), dtype))
    assert into(out, dtype) is out
    assert data.tolist() == (X / 2).tolist()


def test_bfloat16_goes_to_its_own_type_or_to_bits():
    for dtype in (BFLOAT16, np.uint16):
        out = np.zeros((2, 3), dtype)
        assert into(out, "bfloat16") is out
        assert out.view(BFLOAT16).astype(np.float32).tolist() == (X / 2).tolist()
    with pytest.raises(TypeError, match="^out: its dtype is int16"):
        into(np.zeros((2, 3), np.int16), "bfloat16")
    with pytest.raises(TypeError, match="^out: its dtype is uint16"):
        into(np.zeros((2, 3), np.uint16), "float16")


def test_out_of_no_elements_and_of_no_dimensions():
    out = np.zeros((0, 3), np.float32)
    assert into(out, x=X[:0]) is out
    out = np.zeros((), np.float32)
    assert into(out, x=np.uint8(9)) is out and out == 4.5


def read_only():
    y = np.zeros((2, 3), np.float32)
    y.flags.writeable = False
    return y


F = np.float32
WRONG = {
    "float64": (np.zeros((2, 3)), TypeError), "float16": (np.zeros((2, 3), np.float16), TypeError),
    "int32": (np.zeros((2, 3), np.int32), TypeError),
    "bytes of its size": (np.zeros((2, 12), np.uint8), TypeError), "byteswapped": (
        np.zeros((2, 3), ">f4"), TypeError), "objects": (np.zeros((2, 3), object), TypeError),
    "masked": (np.ma.zeros((2, 3), F), TypeError), "flat": (np.zeros(6, F), ValueError),
    "transposed shape": (np.zeros((3, 2), F), ValueError),
    "one dimension more": (np.zeros((1, 2, 3), F), ValueError),
    "larger": (np.zeros((3, 3), F), ValueError), "Fortran": (np.zeros((2, 3), F, "F"), ValueError),
    "strided": (np.zeros((2, 6), F)[:, ::2], ValueError),
    "backwards": (np.zeros((2, 3), F)[::-1], ValueError),
    "broadcast": (np.lib.stride_tricks.as_strided(np.zeros(3, F), (2, 3), (0, 4)), ValueError),
    "read-only": (read_only(), ValueError),
    "read-only memoryview": (memoryview(read_only()), ValueError), "bytes": (bytes(24), ValueError),
    "bytearray": (bytearray(24), TypeError), "list": ([0.0] * 6, TypeError), "scalar": (
        np.float32(0), ValueError), "a class": (np.ndarray, TypeError), "str": ("out", TypeError),
    "Packed": (dequant.Packed(bytes(24), "float32", (2, 3)), TypeError),
    "tuple of arrays": ((np.zeros((2, 3), F),), TypeError),
    "array.array": (array.array("f", [0] * 6), ValueError), "mmap": (mmap.mmap(-1, 24), TypeError),
    "read-only DLPack": (Exporter(read_only()), ValueError),
    "DLPack that does not say whether it may be written": (OldExporter(np.zeros((2, 3), F)),
                                                           ValueError),
    "strided DLPack": (Exporter(np.zeros((3, 2), F).T), ValueError),
    "another type by DLPack": (Exporter(np.zeros((2, 3))), TypeError),
    "another shape by DLPack": (Exporter(np.zeros((3, 2), F)), ValueError),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_the_result_is_refused_and_left_alone(name):
    out, error = WRONG[name]
    with pytest.raises(error, match="^out: "):
        into(out)
    data = getattr(out, "data", out) if isinstance(out, Exporter) else out
    if isinstance(data, np.ndarray) and data.dtype != object:
        assert not data.any()


def test_memory_of_another_device_is_not_written():
    data = np.zeros((2, 3), F)
    for device in ((8, 0), (10, 1)):
        with pytest.raises(TypeError, match="^out: "):
            into(Exporter(data, device))
        with pytest.raises(TypeError,
                           match=f"^x: Exporter on a device of DLPack's type {device[0]}"):
            dequant.onnx.dequantize_linear(Exporter(X, device), F(1))
    assert not data.any()


def test_out_over_an_input_is_refused():
    memory = np.zeros(96, np.uint8)
    for first in (0, 23, 50):
        x = memory[first:first + 6].reshape(2, 3)
        with pytest.raises(ValueError, match="^y: overlaps x"):
            into(memory[first // 4 * 4:][:24].view(F).reshape(2, 3), x=x)
    scale = np.ones(1, F)
    with pytest.raises(ValueError, match="^y: overlaps scale"):
        dequant.onnx.dequantize_linear(np.uint8([3]), scale, out=scale)
    into(memory[:24].view(F).reshape(2, 3), x=memory[24:30].reshape(2, 3))


def test_a_refused_call_writes_nothing():
    out = np.full((2, 3), 7, F)
    for change in ({"axis": 9}, {"block_size": -1}, {"opset": 99}, {"threads": -1},
                   {"like": "torch"},
                   {"like": "numpy"}):
        with pytest.raises(ValueError):
            dequant.onnx.dequantize_linear(X, F([1, 2, 3]), out=out, **change)
    with pytest.raises(ValueError):
        dequant.onnx.dequantize_linear(np.zeros((2, 3), ml_dtypes.float8_e5m2), F(1),
                                       np.ones((), ml_dtypes.float8_e5m2), out=out)
    assert (out == 7).all()
