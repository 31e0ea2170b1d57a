"""`dequant convert` on one DequantizeLinear of every type, version and granularity: the bits are
those of the formula in arithmetic.py and, where it computes that formula, of ONNX's reference
implementation."""

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from arithmetic import (BITS, assert_same, codes, codes_of, dequantized, element_of, floats,
                        onnx_code, random_codes)
from support import convert, initializer, linear

INT8 = ["uint8", "int8", "int32"]
FLOAT8 = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]
SMALL = ["uint16", "int16", "uint4", "int4"]
TYPES = {10: INT8, 13: INT8, 19: INT8 + FLOAT8, 21: INT8 + FLOAT8 + SMALL,
         23: INT8 + FLOAT8 + SMALL + ["float4e2m1"], 24: INT8 + FLOAT8 + SMALL + ["float4e2m1"],
         25: INT8 + FLOAT8 + SMALL + ["float4e2m1", "uint2", "int2"],
         28: INT8 + FLOAT8 + SMALL + ["float4e2m1", "uint2", "int2", "float6e2m3", "float6e3m2"]}
SHAPE = [5, 7, 3]  # odd, so that rows of packed types do not start on bytes
GRANULARITIES = {  # the shape of the scale, and attributes
    "per tensor": ([], {}),
    "per tensor of one": ([1], {}),
    "per axis by default": ([7], {}),
    "per axis 0": ([5], {"axis": 0}),
    "per axis -1": ([3], {"axis": -1}),
    "blocked, short last block": ([5, 3, 3], {"axis": 1, "block_size": 3}),
    "blocked, negative axis": ([5, 7, 2], {"axis": -1, "block_size": 2}),
    "blocked on the first axis": ([2, 7, 3], {"axis": 0, "block_size": 4}),
    "blocked by more than there is": ([5, 1, 3], {"axis": 1, "block_size": 100}),
}


def allowed(opset, granularity):
    since = 10 if granularity == "per tensor" else 21 if "blocked" in granularity else 13
    return opset >= since


def some_scales(rng, element, shape):
    """Of all sizes and signs, some of them zero, subnormal, infinite and NaN."""
    if element == "float8e8m0":
        return random_codes(rng, element, shape)
    plain = rng.normal(size=shape) * 10.0 ** rng.integers(-4, 2, shape)
    odd = rng.choice([0.0, -0.0, 1e-41, -3e38, np.inf, np.nan], shape)
    with np.errstate(over="ignore"):
        return floats(np.where(rng.random(shape) < 0.1, odd, plain), element)


def zero_points(rng, element, shape):
    """Any codes; floats have none but zeros, and int32 has small ones."""
    if element.startswith("float"):
        return codes(element, np.zeros(shape, int))
    if element == "int32":
        return codes(element, rng.integers(-100, 100, shape))
    return random_codes(rng, element, shape)


def check(folder, x, scale, zero, opset, domain="", **attributes):
    """Converts the model, compares the constant with the formula, returns it."""
    source = linear(folder, x, scale, zero, opset, domain, **attributes)
    converted, report = convert(source)
    assert report["totals"]["folded"] == 1 and not converted.graph.node
    y = initializer(converted, "y")
    output = element_of(attributes.pop("output_dtype", onnx_code(scale.element)))
    assert_same(y, dequantized(x, scale, zero, output=output, **attributes))
    return source, y


CASES = [(opset, element, granularity) for opset, elements in TYPES.items() for element in elements
         for granularity in GRANULARITIES if allowed(opset, granularity)]


@pytest.mark.parametrize("opset, element, granularity", CASES)
def test_constant_has_the_bits_of_the_formula(opset, element, granularity, tmp_path):
    rng = np.random.default_rng(len(element) + opset)
    shape, attributes = GRANULARITIES[granularity]
    x, zero = random_codes(rng, element, SHAPE), zero_points(rng, element, shape)
    if BITS[element] > 8:  # the ends of the range, which random codes miss
        x.codes.reshape(-1)[:6] = codes(element, [0, -1, 1, 1 << 15, (1 << 15) - 1, 1 << 31]).codes
    source, y = check(tmp_path, x, some_scales(rng, "float32", shape), zero, opset, **attributes)
    # The reference has no implementation before 19, and subtracts int32 in float64.
    if opset >= 19 and element != "int32":
        with np.errstate(all="ignore"):
            assert_same(y, codes_of(ReferenceEvaluator(onnx.load(source)).run(None, {})[0]))


@pytest.mark.parametrize("element", TYPES[28])
@pytest.mark.parametrize("granularity", ["per tensor", "per axis 0", "blocked, short last block"])
def test_zero_point_may_be_left_out(element, granularity, tmp_path):
    rng = np.random.default_rng(7)
    shape, attributes = GRANULARITIES[granularity]
    x = random_codes(rng, element, SHAPE)
    source, y = check(tmp_path, x, some_scales(rng, "float32", shape), None, 28, **attributes)
    with np.errstate(all="ignore"):
        assert_same(y, codes_of(ReferenceEvaluator(onnx.load(source)).run(None, {})[0]))


@pytest.mark.parametrize("element", TYPES[28])
@pytest.mark.parametrize("scale", ["float16", "bfloat16"])
@pytest.mark.parametrize("granularity", ["per tensor", "per axis 0", "blocked, short last block"])
def test_output_has_the_type_of_the_scale(element, scale, granularity, tmp_path):
    rng = np.random.default_rng(8)
    shape, attributes = GRANULARITIES[granularity]
    x, zero = random_codes(rng, element, SHAPE), zero_points(rng, element, shape)
    check(tmp_path, x, some_scales(rng, scale, shape), zero, 28, **attributes)


@pytest.mark.parametrize("scale", ["float32", "float16", "bfloat16", "float8e8m0"])
@pytest.mark.parametrize("output", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("element", ["int8", "uint16", "float8e4m3fn", "float4e2m1"])
def test_output_dtype_decides_the_type(element, scale, output, tmp_path):
    rng = np.random.default_rng(9)
    shape, attributes = GRANULARITIES["blocked on the first axis"]
    x, zero = random_codes(rng, element, SHAPE), zero_points(rng, element, shape)
    check(tmp_path, x, some_scales(rng, scale, shape), zero, 25, output_dtype=onnx_code(output),
          **attributes)


@pytest.mark.parametrize("element", ["uint8", "int8", "uint16", "int16", "int32", "uint4", "int4"])
@pytest.mark.parametrize("scale", ["float32", "float16"])
@pytest.mark.parametrize("granularity", [g for g in GRANULARITIES if "blocked" not in g])
def test_com_microsoft_node_becomes_a_constant(element, scale, granularity, tmp_path):
    rng = np.random.default_rng(10)
    shape, attributes = GRANULARITIES[granularity]
    x, zero = random_codes(rng, element, SHAPE), zero_points(rng, element, shape)
    check(tmp_path, x, some_scales(rng, scale, shape), zero, 21, "com.microsoft", **attributes)


@pytest.mark.parametrize("shape", [[], [1], [0], [3, 0, 2]])
@pytest.mark.parametrize("element", ["uint8", "int4", "float8e5m2"])
def test_scalars_and_empty_tensors_become_constants(element, shape, tmp_path):
    x = random_codes(np.random.default_rng(11), element, shape)
    check(tmp_path, x, floats(0.5), None, 21)


@pytest.mark.parametrize("scale_shape, zero_shape", [([], [1]), ([1], [])])
def test_scalar_and_tensor_of_one_element_mix(scale_shape, zero_shape, tmp_path):
    x = random_codes(np.random.default_rng(12), "int8", [9])
    check(tmp_path, x, floats(np.full(scale_shape, 0.3)), codes("int8", np.full(zero_shape, -7)),
          21)
