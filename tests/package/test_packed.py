"""Bytes that the caller describes, and elements of less than a byte, which are never taken for one
another."""

import copy
import itertools
import mmap
import pickle

import ml_dtypes
import numpy as np
import pytest

import dequant
from arithmetic import BITS, INPUTS, assert_same, codes_of, dequantized, floats, random_codes
from tensors import ONE_PER_BYTE, array_of, packed_of, program, same_bits


def read(x):
    return dequant.onnx.dequantize_linear(x, 0.5)


@pytest.mark.parametrize("element", INPUTS)
def test_packed_and_one_per_byte_are_the_same_numbers(element, rng):
    for shape in ((), (0,), (1,), (3,), (5, 7), (2, 3, 5), (1, 0, 4), (257,)):
        x = random_codes(rng, element, shape)
        expected = dequantized(x, floats(0.5))
        assert_same(codes_of(read(packed_of(x))), expected)
        assert_same(codes_of(read(array_of(x))), expected)


@pytest.mark.parametrize("element", ONE_PER_BYTE)
def test_packed_is_never_taken_for_one_per_byte(element):
    held = np.arange(12).astype(np.uint8)
    loose = held.view(ONE_PER_BYTE[element])
    assert read(loose).shape == (12,)
    takes = 12 * BITS[element] // 8
    with pytest.raises(ValueError,
                       match=f"^data: 12 bytes are given, and {element}\\[12\\] takes {takes}"):
        dequant.Packed(held, element, 12)
    with pytest.raises(ValueError, match="^data: 12 bytes"):
        dequant.Packed(loose, element, 12)
    assert read(held).tolist() == [i / 2 for i in range(12)]  # plain bytes are uint8


@pytest.mark.parametrize("dtype, name", [
    ("int4", "int4"), (ml_dtypes.int4, "int4"), (np.dtype(ml_dtypes.uint2), "uint2"),
    (np.uint8, "uint8"),
    (np.dtype(np.int16), "int16"), (ml_dtypes.float8_e4m3fn, "float8e4m3fn"),
    ("float8_e5m2fnuz", "float8e5m2fnuz"),
    ("float8e8m0", "float8e8m0"), (ml_dtypes.float4_e2m1fn, "float4e2m1"),
    ("bfloat16", "bfloat16")])
def test_dtypes_have_many_names(dtype, name):
    packed = dequant.Packed(bytes(16 * BITS[name] // 8), dtype, (4, 4))
    assert (packed.dtype, packed.shape, packed.size, packed.nbytes) == \
        (name, (4, 4), 16, 2 * BITS[name])
    assert repr(packed) == f"<dequant.Packed {name}[4, 4], {2 * BITS[name]} bytes>"


def test_torch_dtypes_are_names_too(torch):
    assert dequant.Packed(bytes(4), torch.float8_e4m3fn, 4).dtype == "float8e4m3fn"
    assert dequant.Packed(bytes(4), torch.bfloat16, 2).dtype == "bfloat16"


@pytest.mark.parametrize("dtype", ["int3", "float64", "", "x" * 1000, "\ud800", int, float,
                                   np.float64, None, 3, b"int4", ["int4"], np.dtype("M8[s]"),
                                   np.int8(4), ml_dtypes.int1])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match="^dtype: "):
        dequant.Packed(bytes(2), dtype, 4)


BAD_SHAPES = [
    (None, TypeError), (2.0, TypeError), ("22", TypeError), ((2, 2.0), TypeError),
    ((2, None), TypeError),
    (True, TypeError), ((4, True), TypeError), (((2, 2),), TypeError), ([[4]], TypeError),
    (np.float32([4]), TypeError),
    (-4, ValueError),
    ((-2, -2), ValueError), ((2**64, 0), ValueError), (2**70, ValueError),
    ((2**40, 2**40), ValueError),
    ((1,) * 65, ValueError), ((1,) * 10**6, ValueError), ((), ValueError), (3, ValueError),
    (5, ValueError),
    ((4, 0), ValueError)]


@pytest.mark.parametrize("shape, error", BAD_SHAPES, ids=range(len(BAD_SHAPES)))
def test_shapes_that_the_bytes_do_not_have_are_refused(shape, error):
    with pytest.raises(error, match="^(shape|data): "):
        dequant.Packed(bytes(4), "uint8", shape)


def test_shapes_may_be_any_sequence_of_ints():
    for shape in ((2, 2), [2, 2], np.int64([2, 2]), (np.uint8(2), 2), iter((2, 2)), range(2, 3), 4,
                  np.int32(4),
                  (1,) * 62 + (4, 1)):
        data = bytes(2) if isinstance(shape, range) else bytes(4)
        assert read(dequant.Packed(data, "uint8", shape)).size == len(data)


@pytest.mark.parametrize("data, error", [
    (None, TypeError), ([1, 2], TypeError), ("ab", TypeError), (2, TypeError),
    (np.zeros(1, np.int16), TypeError),
    (np.zeros(2, object), TypeError), (np.ma.zeros(2, np.uint8), TypeError),
    (np.zeros(4, np.uint8)[::2], ValueError),
    (np.zeros((2, 4), np.uint8)[:, :1], ValueError), (memoryview(bytes(4))[::2], ValueError),
    (np.ndarray, TypeError),
    (memoryview(np.zeros(1, np.int16)), TypeError)], ids=range(12))
def test_data_is_contiguous_memory_of_bytes(data, error):
    with pytest.raises(error, match="^data: "):
        dequant.Packed(data, "uint8", 2)


def test_data_is_not_copied():
    for data in (bytearray(4), np.zeros((2, 2), np.int8), memoryview(bytearray(4)),
                 np.zeros(4, ml_dtypes.float8_e5m2)):
        packed = dequant.Packed(data, "uint4", 8)
        np.asarray(data).reshape(-1).view(np.uint8)[1] = 0x21
        assert read(packed).tolist() == [0, 0, 0.5, 1, 0, 0, 0, 0]


def test_packed_does_not_change():
    packed = dequant.Packed(b"\x21", "uint4", 2)
    for name, value in {"data": b"", "dtype": "int4", "shape": (1,), "size": 3, "other": 1}.items():
        with pytest.raises(AttributeError):
            setattr(packed, name, value)
    assert read(packed).tolist() == [0.5, 1]


def test_attributes_of_packed_could_be_deleted():
    packed = dequant.Packed(b"\x21", "uint4", 2)
    with pytest.raises(AttributeError, match="not changed .*: dtype"):
        del packed.dtype
    assert repr(packed) == "<dequant.Packed uint4[2], 1 bytes>"


def test_packed_is_copied_and_pickled():
    packed = dequant.Packed(b"\x21\x43", "uint4", (2, 2))
    for again in (copy.copy(packed), copy.deepcopy(packed),
                  *(pickle.loads(pickle.dumps(packed, protocol))
                    for protocol in range(pickle.HIGHEST_PROTOCOL + 1))):
        assert (again.dtype, again.shape) == ("uint4", (2, 2))
        same_bits(read(again), read(packed))


def test_zero_points_and_scales_may_be_packed(rng):
    for element, output in itertools.product(("uint4", "int2"), ("float16", "bfloat16")):
        x, zero = random_codes(rng, element, (3, 5)), random_codes(rng, element, 5)
        scale = floats(rng.normal(size=5), output)
        y = dequant.onnx.dequantize_linear(packed_of(x), packed_of(scale), packed_of(zero))
        assert_same(codes_of(y), dequantized(x, scale, zero))
        y = dequant.onnx.dequantize_linear(array_of(x), packed_of(scale), packed_of(zero))
        assert_same(codes_of(y), dequantized(x, scale, zero))
        with pytest.raises(ValueError, match="zero_point"):
            dequant.onnx.dequantize_linear(packed_of(x), packed_of(scale), np.zeros(5, np.uint8))


@pytest.mark.parametrize("element", [*INPUTS, "float32", "float16", "bfloat16"])
def test_packed_has_its_numbers(element, rng):
    for shape in ((), (0,), (3,), (5, 7), (1, 0, 4)):
        x = random_codes(rng, element, shape)
        packed = packed_of(x)
        for found in (packed.to_numpy(), np.asarray(packed), np.array(packed)):
            assert (found.dtype, found.shape) == (array_of(x).dtype, shape)
            assert found.tobytes() == array_of(x).tobytes()
        with np.errstate(all="ignore"):
            wide = np.asarray(packed, np.float64)
            assert wide.dtype == np.float64
            np.testing.assert_array_equal(wide, array_of(x).astype(np.float64))


def test_numbers_of_packed_are_a_view_where_they_have_whole_bytes():
    whole, half = dequant.Packed(bytearray(4), "int16", 2), dequant.Packed(bytearray(2), "int4", 4)
    for array in (whole.to_numpy(), np.asarray(whole), whole.__array__(copy=False)):
        assert np.shares_memory(array, whole.data)
    for array in (np.array(whole), np.asarray(whole, np.float32), np.asarray(half),
                  half.to_numpy()):
        assert not np.may_share_memory(array, whole.data) \
            and not np.may_share_memory(array, half.data)
    for packed, dtype in ((half, None), (half, ml_dtypes.int4), (whole, np.int32)):
        with pytest.raises(ValueError, match="^int.* is a copy"):
            packed.__array__(dtype, copy=False)


def test_packed_without_a_type_has_no_numbers_but_is_read():
    text = ("import sys\nsys.modules['ml_dtypes'] = None\nimport numpy as np, dequant\n"
            "packed = dequant.Packed(b'\\x21', 'int4', 2)\n"
            "for call in (packed.to_numpy, lambda: np.asarray(packed), lambda: np.asarray(packed, "
            "np.int8)):\n    try:\n        call()\n    except TypeError as error:\n        "
            "print(error)\nprint(dequant.onnx.dequantize_linear(packed, 1.0), "
            "np.asarray(dequant.Packed(b'\\1\\2', 'int16', 1)))")
    sentence = "numpy has no type for int4, and no ml_dtypes that has it is installed"
    assert program(text).splitlines() == [sentence] * 3 + ["[1. 2.] [513]"]


def test_names_of_numpy_are_dtypes_too():
    for name, element in {"f2": "float16", "half": "float16", "u1": "uint8", "i4": "int32",
                          "short": "int16",
                          "=i2": "int16"}.items():
        assert dequant.Packed(bytes(4), name, 4 * 8 // BITS[element]).dtype == element
    assert dequant.onnx.dequantize_linear(np.uint8([1]), 0.5, output_dtype="f2").dtype == np.float16
    for name in ("f8", "l", "O", "U", "f4,f4", "(2,)f4", "f4,(", "?", "M8[s]"):
        with pytest.raises(TypeError, match="^dtype: .* is no element type"):
            dequant.Packed(bytes(4), name, 1)


def test_dtypes_of_another_byte_order_are_refused():
    """Packed bytes are little-endian, and results are of this machine."""
    for dtype in (">i2", np.dtype(">i2"), np.dtype(np.float32).newbyteorder(),
                  np.dtype(np.float16).newbyteorder()):
        with pytest.raises(TypeError, match="^dtype: the byte order"):
            dequant.Packed(bytes(4), dtype, 4 // np.dtype(dtype).itemsize)
        with pytest.raises(TypeError, match="^output_dtype: "):
            dequant.onnx.dequantize_linear(np.uint8([1]), 0.5, output_dtype=dtype)


def test_memory_that_is_gone_is_told():
    closed, released = mmap.mmap(-1, 16), memoryview(b"1234")
    closed.close()
    released.release()
    for data, sentence in ((closed, "mmap gives no memory: mmap closed or invalid"),
                           (released, "memoryview gives no memory: operation forbidden on released "
                                      "memoryview")):
        with pytest.raises(TypeError, match=f"^data: {sentence}"):
            dequant.Packed(data, "int4", 2)
        with pytest.raises(TypeError, match=f"^x: {sentence}"):
            read(data)
        with pytest.raises(ValueError, match=f"^out: {sentence}"):
            dequant.onnx.dequantize_linear(np.uint8([1]), 0.5, out=data)
