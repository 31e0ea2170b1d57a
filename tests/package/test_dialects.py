"""The linear dialects, bit for bit as independent formulas in numpy: every code, scales of every
kind, every output."""

import ml_dtypes
import numpy as np
import pytest

import dequant
from arithmetic import (BITS, FLOATS, INPUTS, Codes, assert_same, codes, codes_of, dequantized,
                        floats, random_codes)
from tensors import EDGES, array_of, linear, packed_of, same_bits

OUTPUTS = ["float32", "float16", "bfloat16"]


def every_code(element, rng):
    """All codes of up to 16 bits; of int32 those around its limits and zero, and as many others."""
    if BITS[element] <= 16:
        return np.arange(1 << BITS[element])
    near = np.arange(-4096, 4096)
    return np.concatenate([near, near + 2**31, near + 2**24,
                           rng.integers(0, 2**32, 1 << 15)]) & 0xFFFFFFFF


def rows(element, scales, rng):
    """A row of every code for each scale."""
    line = every_code(element, rng)
    return Codes(element, np.broadcast_to(line, (scales.codes.size, line.size)).copy())


def zero_points(element, count, rng):
    """Any codes, the least and the greatest among them; of floats only zero is legal."""
    if element.startswith("float"):
        return codes(element, np.zeros(count, int))
    zeros = random_codes(rng, element, count)
    zeros.codes[:2] = 1 << (BITS[element] - 1), (1 << (BITS[element] - 1)) - 1
    return zeros


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("scale", ["float32", "float16", "bfloat16", "float8e8m0"])
@pytest.mark.parametrize("element", INPUTS)
def test_onnx_of_every_code(element, scale, output, rng):
    with np.errstate(over="ignore"):
        scales = (floats(EDGES, scale) if scale != "float8e8m0" else
                  Codes(scale, np.int64([0, 1, 100, 127, 128, 254, 255])))
    x = rows(element, scales, rng)
    zeros = zero_points(element, scales.codes.size, rng)
    expected = dequantized(x, scales, zeros, axis=0, output=output)
    for form in (array_of, packed_of):
        y = dequant.onnx.dequantize_linear(form(x), form(scales), form(zeros), axis=0,
                                           output_dtype=output)
        assert_same(codes_of(y), expected)


@pytest.mark.parametrize("element", INPUTS)
def test_onnx_without_a_zero_point(element, rng):
    x, scale = random_codes(rng, element, (3, 7)), floats(0.3)
    y = dequant.onnx.dequantize_linear(array_of(x), np.float32(0.3))
    assert_same(codes_of(y), dequantized(x, scale))


def test_the_output_is_of_the_type_of_the_scale(rng):
    x = random_codes(rng, "uint8", (3, 7))
    for scale in OUTPUTS:
        y = dequant.onnx.dequantize_linear(array_of(x), array_of(floats(0.3, scale)))
        assert_same(codes_of(y), dequantized(x, floats(0.3, scale)))
        y = dequant.onnx.dequantize_linear(array_of(x), array_of(floats(0.3, scale)),
                                           output_dtype=0)
        assert_same(codes_of(y), dequantized(x, floats(0.3, scale)))


@pytest.mark.parametrize("dtype, expected", [
    (1, np.float32), (10, np.float16), (16, ml_dtypes.bfloat16), ("float16", np.float16),
    (np.float16, np.float16),
    (np.dtype("float16"), np.float16), (ml_dtypes.bfloat16, ml_dtypes.bfloat16),
    (np.dtype(ml_dtypes.bfloat16), ml_dtypes.bfloat16)])
def test_output_dtype_has_a_number_and_names(dtype, expected):
    y = dequant.onnx.dequantize_linear(np.uint8([3]), np.float32(2), output_dtype=dtype)
    assert (y.dtype, y[0]) == (expected, 6)


def test_defaults_are_no_attributes():
    x, scale = np.uint8([1, 2]), np.float32(2)
    for opset in (10, 13, 19, 21, 23, 24, 25, 28):
        assert dequant.onnx.dequantize_linear(x, scale, opset=opset).tolist() == [2, 4]
    with pytest.raises(ValueError, match="axis"):
        dequant.onnx.dequantize_linear(x, np.float32([2, 3]), axis=0, opset=10)
    for opset in (9, 29):
        with pytest.raises(dequant.UnsupportedError, match=f"opset {opset}"):
            dequant.onnx.dequantize_linear(x, scale, opset=opset)


@pytest.mark.parametrize("element", ["uint8", "int8", "uint16", "int16", "int32", "uint4", "int4"])
@pytest.mark.parametrize("scale", ["float32", "float16"])
def test_microsoft_of_every_code(element, scale, rng):
    with np.errstate(over="ignore"):
        scales = floats(EDGES, scale)
    x, zeros = rows(element, scales, rng), zero_points(element, scales.codes.size, rng)
    expected = dequantized(x, scales, zeros, axis=0)
    for form in (array_of, packed_of):
        y = dequant.microsoft.dequantize_linear(form(x), form(scales), form(zeros), axis=-2)
        assert_same(codes_of(y), expected)


def test_microsoft_without_an_axis_means_1(rng):
    x, scale = random_codes(rng, "int8", (3, 5, 2)), \
        random_codes(rng, "uint8", 5).values().astype(np.float32)
    y = dequant.microsoft.dequantize_linear(array_of(x), scale)
    assert_same(codes_of(y), dequantized(x, floats(scale), axis=1))


def spread(param, shape):
    """A parameter repeated to the shape of x: each of its elements belongs to a block of x."""
    for axis, size in enumerate(shape):
        param = np.repeat(param, size // param.shape[axis], axis)
    return param


@pytest.mark.parametrize("element", ["uint8", "int8", "uint32", "int32", "uint4", "int4"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_webnn_blocks_on_any_axes(element, dtype, rng):
    width = int(element.lstrip("uint"))
    low, high = (0, 1 << width) if element[0] == "u" else (-(1 << width - 1), 1 << width - 1)
    kind = np.dtype(f"{element[0]}{max(width, 8) // 8}")
    x, zero = (rng.integers(low, high, shape).astype(kind) for shape in ([4, 6, 3], [2, 2, 1]))
    scale = rng.normal(size=[2, 2, 1]).astype(dtype)
    held = (lambda a: a) if width > 4 else (lambda a: a.astype(getattr(ml_dtypes, element)))
    y = dequant.webnn.dequantize_linear(held(x), scale, held(zero))
    same_bits(y, linear(x, spread(scale, x.shape), spread(zero, x.shape), dtype))


def test_zero_points_and_scales_may_be_numbers():
    x = np.uint8([1, 200])
    for scale in (2, 2.0, np.float32(2), np.array(2, np.float32), np.float32([2])):
        same_bits(dequant.onnx.dequantize_linear(x, scale, 100), np.float32([-198, 200]))
    same_bits(dequant.onnx.dequantize_linear(x, 0.1), linear(x, np.float32(0.1)))
    same_bits(dequant.tensorflow.dequantize(x, 0, 1),
              dequant.tensorflow.dequantize(x, np.float32(0), np.float32(1)))


def test_elements_that_a_dialect_lacks_are_refused():
    for x in (np.uint32([1]), np.float32([1]), np.float16([1]), np.zeros(1, FLOATS["float8e8m0"])):
        with pytest.raises(ValueError, match="^x: element type "):
            dequant.onnx.dequantize_linear(x, np.float32(1))
    with pytest.raises(ValueError, match="^input: element type "):
        dequant.webnn.dequantize_linear(np.uint16([1]), np.float32([1]), np.uint16([1]))
    with pytest.raises(ValueError, match="float8"):
        dequant.onnx.dequantize_linear(np.zeros(1, FLOATS["float8e5m2"]), np.float32(1),
                                       np.ones((), FLOATS["float8e5m2"]))


@pytest.mark.parametrize("mode,dtype", [("MIN_COMBINED", "float32"), ("MIN_COMBINED", "bfloat16"),
                                        ("SCALED", "float32")])
@pytest.mark.parametrize("shape", [(17, 2804, 3), (5, 2820, 15), (6, 3001, 5)])
def test_columns_of_short_channels_are_those_of_each_slice(mode, dtype, shape):
    """Large tensors whose slices share ranges are done by columns, a slice alone from front to
    back."""
    generator = np.random.default_rng(1)
    x = generator.integers(0, 256, shape).astype(np.uint8)
    low, high = np.float32(-3) * generator.random(shape[1], np.float32), \
        generator.random(shape[1], np.float32)

    def dequantized(part, **options):
        return dequant.tensorflow.dequantize(part, low, high, mode, axis=1, dtype=dtype, **options)

    slices = np.concatenate([dequantized(x[i:i + 1]) for i in range(shape[0])])
    assert dequantized(x).tobytes() == dequantized(x, threads=1).tobytes() == slices.tobytes()
