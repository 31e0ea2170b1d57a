"""Every kind of input is read as what it is, or refused with TypeError."""

import array
import ctypes
import mmap

import ml_dtypes
import numpy as np
import pytest

import dequant
from tensors import linear, same_bits

ONE = np.float32(1)


def read(x, **options):
    return dequant.onnx.dequantize_linear(x, ONE, **options)


X = np.arange(24, dtype=np.int16).reshape(2, 3, 4) - 9
LAYOUTS = {
    "transposed": X.T, "Fortran": np.asfortranarray(X), "every second": X[:, ::2, ::2],
    "backwards": X[::-1, :, ::-1], "broadcast": np.broadcast_to(X[0, 0], (5, 3, 4)),
    "0-d": X[1, 2, 3, ...],
    "a scalar": X[1, 2, 3],
    "empty": X[:0], "empty and strided": X[:, 3:, ::2],
    "byteswapped": X.astype(X.dtype.newbyteorder()),
    "byteswapped and strided": X.astype(X.dtype.newbyteorder())[:, 1],
    "of a subclass": X.view(type("Named", (np.ndarray,), {})),
    "unaligned": np.frombuffer(b"-" + X.tobytes(), np.int16, offset=1).reshape(X.shape),
    "a field": np.zeros((2, 3), [("a", "u1"), ("b", "i2")])["b"],
    "of 32 dimensions": X.reshape((1,) * 29 + X.shape),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_arrays_of_any_layout_are_read(name):
    x = LAYOUTS[name]
    same_bits(read(x), np.asarray(x, np.float32))
    x = x.view() if isinstance(x, np.ndarray) else x
    if isinstance(x, np.ndarray):
        x.flags.writeable = False
        same_bits(read(x), np.asarray(x, np.float32))


def test_scales_and_zero_points_may_have_any_layout():
    x = np.arange(12, dtype=np.uint8).reshape(3, 4)
    scales = np.float32([[1, 9, -2], [8, 8, 8], [0.5, 9, 3], [7, 7, 7]])
    zeros = np.uint8([[1, 2], [3, 4], [5, 6]])[:, 1]
    for scale in (scales[0], scales[:3, 0], scales.T[:, 2], scales[0, ::-1],
                  scales[0].astype(">f4")):
        y = dequant.onnx.dequantize_linear(x, scale, zeros, axis=0)
        same_bits(y, linear(x, np.asarray(scale, np.float32)[:, None], zeros[:, None]))


def memories():
    words = np.arange(-5, 7, dtype=np.int16)
    shared = mmap.mmap(-1, 24)
    shared[:] = words.tobytes()
    held = (ctypes.c_int16 * 4 * 3)(*((ctypes.c_int16 * 4)(*row) for row in words.reshape(3, 4)))
    yield "bytes", b"\x00\x7f\xff", np.uint8([0, 127, 255])
    yield "bytearray", bytearray(b"\x00\x7f\xff"), np.uint8([0, 127, 255])
    yield "memoryview", memoryview(b"\x00\x7f\xff")[::2], np.uint8([0, 255])
    yield "memoryview of 2 bytes", memoryview(words), words
    yield "memoryview of 2 dimensions", memoryview(bytearray(words)).cast("h", (3, 4)), \
        words.reshape(3, 4)
    yield "memoryview backwards", memoryview(words)[::-1], words[::-1]
    yield "array.array", array.array("h", words.tolist()), words
    yield "array.array of 4", array.array("i", words.tolist()), words.astype(np.int32)
    yield "ctypes", held, words.reshape(3, 4)
    yield "ctypes, big-endian", (ctypes.c_int16.__ctype_be__ * 2)(258, -3), np.int16([258, -3])
    yield "mmap", shared, np.frombuffer(words.tobytes(), np.uint8)


@pytest.mark.parametrize("value, same", [row[1:] for row in memories()],
                         ids=[row[0] for row in memories()])
def test_whatever_has_a_buffer_is_read(value, same):
    same_bits(read(value), same.astype(np.float32))


class Interface:
    """An array of no library."""

    def __init__(self, data):
        self.data = data
        self.__array_interface__ = data.__array_interface__


def test_memory_maps_are_read_and_written(tmp_path):
    x = np.memmap(tmp_path / "x", np.int16, "w+", shape=X.shape)
    x[:] = X
    out = np.memmap(tmp_path / "y", np.float32, "w+", shape=X.shape)
    assert read(x, out=out) is out
    same_bits(np.asarray(out), X.astype(np.float32))


def test_array_interface_is_read():
    for x in (X, X[:, ::2], X.astype(">i2")):
        same_bits(read(Interface(x)), x.astype(np.float32))


@pytest.mark.parametrize("name", ["quint8", "qint8", "quint16", "qint16", "qint32"])
def test_quantized_arrays_of_tensorflow_are_read(name):
    dtype = np.dtype([(name, name.lstrip("q"))])
    x = np.arange(6).astype(name.lstrip("q")).view(dtype).reshape(2, 3)
    for view in (x, x.T, x[:, ::2], x.astype(dtype.newbyteorder())):
        same_bits(read(view), view[name].astype(np.float32))
    other = np.zeros(3, [(name, "f8")])
    with pytest.raises(TypeError, match="^x: "):
        read(other)


ML_DTYPES = {"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn",
             "float6_e2m3fn", "float6_e3m2fn", "int2", "int4", "uint2", "uint4"}
KNOWN_ELSEWHERE = {"bfloat16", "float8_e8m0fnu"}  # a scale, but no x


@pytest.mark.parametrize("name", sorted(name for name in dir(ml_dtypes)
                                        if isinstance(getattr(ml_dtypes, name), type)
                                        and issubclass(getattr(ml_dtypes, name), np.generic)))
def test_types_of_ml_dtypes_are_read_or_refused(name):
    x = np.array([[0, 1, -2 if name[0] != "u" else 2], [1, 1, 0]]).astype(getattr(ml_dtypes, name))
    if name in ML_DTYPES:
        for view in (x, x.T, x[:, ::2], x[::-1], x[0, 1], x[0, 1, ...], x[:0]):
            same_bits(read(view), np.asarray(view).astype(np.float32))
    else:
        with pytest.raises(ValueError if name in KNOWN_ELSEWHERE else TypeError, match="^x: "):
            read(x)
    if name in KNOWN_ELSEWHERE:
        scale = np.array([1, 2, 4]).astype(x.dtype)
        for view in (scale, np.repeat(scale, 2)[::2]):
            y = dequant.onnx.dequantize_linear(np.uint8([3, 3, 3]), view, axis=0,
                                               output_dtype="float32")
            same_bits(y, np.float32([3, 6, 12]))


class Packed:
    data, dtype, shape = np.uint8([1]), "uint4", (2,)


NOT_TENSORS = {
    "None": None, "list": [1, 2], "tuple": (1, 2), "int": 3, "huge int": 2**70, "float": 1.5,
    "bool": True, "str": "ab", "complex": 1j, "dict": {}, "object": object(), "a class": np.ndarray,
    "a class of scalars": np.uint8, "masked": np.ma.array([1, 2], np.uint8),
    "bools": np.zeros(2, bool), "float64": np.zeros(2), "int64": np.zeros(2, np.int64),
    "uint64": np.uint64(1), "complex64": np.zeros(2, np.complex64), "datetime64": np.zeros(
        2, "M8[s]"), "timedelta64": np.zeros(2, "m8[s]"), "bytes of numpy": np.array([b"ab", b"c"]),
    "strings": np.array(["ab", "c"]), "objects": np.array([1, None], object),
    "records": np.zeros(2, "u1,u1"), "a record of one": np.zeros(2, [("quint7", "u1")]),
    "void": np.zeros(2, "V1"),
    "longdouble": np.zeros(2, np.longdouble),
    "array of letters": array.array("u", "ab"), "array of doubles": array.array("d", [1]),
    "our name": Packed(), "pointers": (ctypes.c_void_p * 2)(),
    "ctypes bools": (ctypes.c_bool * 2)(),
}


@pytest.mark.parametrize("name", NOT_TENSORS)
def test_what_is_no_tensor_is_refused(name):
    for call in (dequant.onnx.dequantize_linear, dequant.microsoft.dequantize_linear):
        with pytest.raises(TypeError):
            call(NOT_TENSORS[name], ONE)
    if name in ("list", "tuple"):  # of numbers, for a scale or a zero point: test_lists.py
        return
    if name not in ("int", "float", "huge int"):  # a scale may be a number
        with pytest.raises(TypeError):
            dequant.onnx.dequantize_linear(np.uint8([1]), NOT_TENSORS[name])
    if name not in ("int", "huge int", "None"):
        with pytest.raises(TypeError):
            dequant.onnx.dequantize_linear(np.uint8([1]), ONE, NOT_TENSORS[name])


@pytest.mark.parametrize("name", NOT_TENSORS)
def test_refusals_name_the_parameter(name):
    with pytest.raises(TypeError, match="^x: "):
        read(NOT_TENSORS[name])


def test_results_have_the_memory_of_new_arrays():
    y = read(np.uint8([[1, 2], [3, 4]]))
    assert type(y) is np.ndarray and y.flags.c_contiguous and y.flags.writeable and y.flags.owndata
    assert type(read(np.uint8(1))) is np.ndarray and read(np.uint8(1)).shape == ()


def test_bytes_stay_exported_as_long_as_a_tensor_holds_them():
    data = bytearray(16)
    packed = dequant.Packed(data, "int4", 32)
    with pytest.raises(BufferError):
        data.append(1)
    read(packed)
    del packed
    data.append(1)
