"""What cannot be borrowed and is copied: strides, one element in each byte, and bytes without a
dtype."""

import pickle

import ml_dtypes
import numpy as np
import pytest

import dequant

DTYPES = [np.uint8, np.int8, np.uint16, np.int16, np.int32, ml_dtypes.float8_e4m3fn]
ONE_PER_BYTE = [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2,
                ml_dtypes.float4_e2m1fn]


def dequantized(x, **options):
    return dequant.onnx.dequantize_linear(x, 0.5, **options)


def codes(count, dtype):
    """All codes in ascending order."""
    bits = np.arange(count, dtype=np.uint64).astype(np.dtype(f"u{np.dtype(dtype).itemsize}"))
    return bits.view(dtype) if np.dtype(dtype).itemsize > 1 \
        or dtype not in ONE_PER_BYTE else bits.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("rows", [3, 200])  # below and above the size of a quick copy
def test_strides_of_every_kind(dtype, rows):
    x = codes(rows * 8 * 64, dtype).reshape(rows, 8, 64)
    for view in (x[:, ::2], x[..., 1::3], x[::-1], x[:, :, ::-1], x.transpose(2, 0, 1), x[1:2, 3],
                 x[:, :0, ::2], np.broadcast_to(x[:, :1, :1], x.shape), x[..., 5]):
        np.testing.assert_array_equal(dequantized(view), dequantized(np.ascontiguousarray(view)))
    scale = np.linspace(0.5, 2, 64, dtype=np.float32)
    np.testing.assert_array_equal(
        dequant.onnx.dequantize_linear(x, scale[::-2][::-1].repeat(2)[::1], axis=2),
                                  dequant.onnx.dequantize_linear(x, scale[1::2].repeat(2), axis=2))
    np.testing.assert_array_equal(dequant.onnx.dequantize_linear(x[..., ::2], scale[::2], axis=2),
                                  dequantized(x[..., ::2].copy()) * 2 * scale[::2])


@pytest.mark.parametrize("dtype", ONE_PER_BYTE, ids=lambda d: np.dtype(d).name)
def test_every_length_of_one_per_byte(dtype):
    few = np.arange(16).astype(np.uint8).view(dtype)
    for count in (*range(1, 40), 1000, 70001):
        x = np.resize(few.view(np.uint8), count)
        # whose own conversion to float32 looks at all bits
        if dtype is not ml_dtypes.float4_e2m1fn:
            x |= np.arange(count, dtype=np.uint8) << 4
        x = x.view(dtype)
        np.testing.assert_array_equal(dequantized(x), x.astype(np.float32) * np.float32(0.5))
        np.testing.assert_array_equal(dequantized(x[::-3]),
                                      x[::-3].astype(np.float32) * np.float32(0.5))


@pytest.mark.parametrize("data", [b"", b"\x00\xff\x07", bytearray(range(256)) * 300])
def test_bytes_are_uint8(data):
    expected = np.frombuffer(data, np.uint8).astype(np.float32) * np.float32(0.5)
    np.testing.assert_array_equal(dequantized(data), expected)


def test_a_dtype_that_was_unpickled_is_known_and_another_byte_order_is_not_taken_for_it():
    for _ in range(100):
        x = pickle.loads(pickle.dumps(np.uint16([1, 256])))
        np.testing.assert_array_equal(dequantized(x), np.float32([0.5, 128]))
        swapped = pickle.loads(pickle.dumps(np.array([1, 256], ">u2")))
        np.testing.assert_array_equal(dequantized(swapped), np.float32([0.5, 128]))
        record = pickle.loads(pickle.dumps(np.zeros(2, [("a", np.uint8)])))
        with pytest.raises(TypeError):
            dequantized(record)
