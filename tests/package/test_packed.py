"""Bytes that the caller describes, and elements of less than a byte, which are never taken for one another."""

import copy
import itertools
import pickle

import ml_dtypes
import numpy as np
import pytest

import dequant
from arithmetic import BITS, INPUTS, assert_same, codes_of, dequantized, floats, random_codes
from tensors import ONE_PER_BYTE, array_of, packed_of, same_bits


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
    with pytest.raises(ValueError, match=f"^data: 12 bytes are given, and {element}\\[12\\] takes {takes}"):
        dequant.Packed(held, element, 12)
    with pytest.raises(ValueError, match="^data: 12 bytes"):
        dequant.Packed(loose, element, 12)
    assert read(held).tolist() == [i / 2 for i in range(12)]  # plain bytes are uint8


@pytest.mark.parametrize("dtype, name", [
    ("int4", "int4"), (ml_dtypes.int4, "int4"), (np.dtype(ml_dtypes.uint2), "uint2"), (np.uint8, "uint8"),
    (np.dtype(np.int16), "int16"), (ml_dtypes.float8_e4m3fn, "float8e4m3fn"), ("float8_e5m2fnuz", "float8e5m2fnuz"),
    ("float8e8m0", "float8e8m0"), (ml_dtypes.float4_e2m1fn, "float4e2m1"), ("bfloat16", "bfloat16")])
def test_dtypes_have_many_names(dtype, name):
    packed = dequant.Packed(bytes(16 * BITS[name] // 8), dtype, (4, 4))
    assert (packed.dtype, packed.shape, packed.size, packed.nbytes) == (name, (4, 4), 16, 2 * BITS[name])
    assert repr(packed) == f"<dequant.Packed {name}[4, 4], {2 * BITS[name]} bytes>"


def test_torch_dtypes_are_names_too(torch):
    assert dequant.Packed(bytes(4), torch.float8_e4m3fn, 4).dtype == "float8e4m3fn"
    assert dequant.Packed(bytes(4), torch.bfloat16, 2).dtype == "bfloat16"


@pytest.mark.parametrize("dtype", ["int3", "float64", "", "x" * 1000, "\ud800", int, float, np.float64, None, 3,
                                   b"int4", ["int4"], np.dtype("M8[s]"), np.int8(4), ml_dtypes.int1])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match="^dtype: "):
        dequant.Packed(bytes(2), dtype, 4)


BAD_SHAPES = [
    (None, TypeError), (2.0, TypeError), ("22", TypeError), ((2, 2.0), TypeError), ((2, None), TypeError),
    (True, TypeError), ((4, True), TypeError), (((2, 2),), TypeError), ([[4]], TypeError), (np.float32([4]), TypeError),
    (-4, ValueError),
    ((-2, -2), ValueError), ((2**64, 0), ValueError), (2**70, ValueError), ((2**40, 2**40), ValueError),
    ((1,) * 65, ValueError), ((1,) * 10**6, ValueError), ((), ValueError), (3, ValueError), (5, ValueError),
    ((4, 0), ValueError)]


@pytest.mark.parametrize("shape, error", BAD_SHAPES, ids=range(len(BAD_SHAPES)))
def test_shapes_that_the_bytes_do_not_have_are_refused(shape, error):
    with pytest.raises(error, match="^(shape|data): "):
        dequant.Packed(bytes(4), "uint8", shape)


def test_shapes_may_be_any_sequence_of_ints():
    for shape in ((2, 2), [2, 2], np.int64([2, 2]), (np.uint8(2), 2), iter((2, 2)), range(2, 3), 4, np.int32(4),
                  (1,) * 62 + (4, 1)):
        data = bytes(2) if isinstance(shape, range) else bytes(4)
        assert read(dequant.Packed(data, "uint8", shape)).size == len(data)


@pytest.mark.parametrize("data, error", [
    (None, TypeError), ([1, 2], TypeError), ("ab", TypeError), (2, TypeError), (np.zeros(1, np.int16), TypeError),
    (np.zeros(2, object), TypeError), (np.ma.zeros(2, np.uint8), TypeError), (np.zeros(4, np.uint8)[::2], ValueError),
    (np.zeros((2, 4), np.uint8)[:, :1], ValueError), (memoryview(bytes(4))[::2], ValueError), (np.ndarray, TypeError),
    (memoryview(np.zeros(1, np.int16)), TypeError)], ids=range(12))
def test_data_is_contiguous_memory_of_bytes(data, error):
    with pytest.raises(error, match="^data: "):
        dequant.Packed(data, "uint8", 2)


def test_data_is_not_copied():
    for data in (bytearray(4), np.zeros((2, 2), np.int8), memoryview(bytearray(4)), np.zeros(4, ml_dtypes.float8_e5m2)):
        packed = dequant.Packed(data, "uint4", 8)
        np.asarray(data).reshape(-1).view(np.uint8)[1] = 0x21
        assert read(packed).tolist() == [0, 0, 0.5, 1, 0, 0, 0, 0]


def test_packed_does_not_change():
    packed = dequant.Packed(b"\x21", "uint4", 2)
    for name, value in {"data": b"", "dtype": "int4", "shape": (1,), "size": 3, "other": 1}.items():
        with pytest.raises(AttributeError):
            setattr(packed, name, value)
    assert read(packed).tolist() == [0.5, 1]


def test_packed_is_copied_and_pickled():
    packed = dequant.Packed(b"\x21\x43", "uint4", (2, 2))
    for again in (copy.copy(packed), copy.deepcopy(packed),
                  *(pickle.loads(pickle.dumps(packed, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1))):
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
