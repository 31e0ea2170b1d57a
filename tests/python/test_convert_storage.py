"""`dequant convert` reads tensor data wherever a TensorProto can keep it: raw, in typed fields
packed or not, with negative entries, and larger than the memory it may use."""

import numpy as np
import pytest
from onnx import TensorProto

import wire
from arithmetic import (BITS, INPUTS, assert_same, codes, dequantized, element_of, floats,
                        onnx_code, random_codes)
from support import convert, dequant, initializer, linear, model, node, save, value


def typed(what, name, signed=False):
    """A TensorProto with the data in its typed field; packed types have one entry a byte. `signed`:
    bytes of packed types as int8, as onnx 1.16 wrote them."""
    tensor = TensorProto(name=name, data_type=onnx_code(what.element), dims=what.codes.shape)
    if what.element == "float32":
        tensor.float_data.extend(what.values().reshape(-1))
    elif BITS[what.element] in (2, 4):
        kind = np.int8 if signed else np.uint8
        tensor.int32_data.extend(np.frombuffer(what.packed(), kind).tolist())
    elif what.element.startswith("int"):
        tensor.int32_data.extend(what.values().astype(int).reshape(-1))
    else:
        tensor.int32_data.extend(what.codes.reshape(-1))
    return tensor


def convert_tensors(folder, x, scale, *zero):
    """Converts a model of one node of these TensorProtos and returns the constant."""
    names = "x scale zero" if zero else "x scale"
    y = value("y", element_of(scale.data_type), x.dims)
    made = model([node("DequantizeLinear", names, "y", axis=0)], outputs=[y],
                 initializers=[x, scale, *zero],
                 opset=28, ir_version=14)
    converted, report = convert(save(made, folder / "in.onnx"))
    assert report["totals"]["folded"] == 1
    return initializer(converted, "y")


@pytest.mark.parametrize("element", INPUTS)
def test_typed_fields_are_read(element, tmp_path):
    rng = np.random.default_rng(1)
    x, scale = random_codes(rng, element, [5, 3]), floats(rng.normal(size=5))
    is_float = element.startswith("float")
    zero = codes(element, np.zeros(5, int)) if is_float else random_codes(rng, element, [5])
    y = convert_tensors(tmp_path, typed(x, "x"), typed(scale, "scale"), typed(zero, "zero"))
    assert_same(y, dequantized(x, scale, zero, 0))


@pytest.mark.parametrize("element", ["uint4", "int4", "uint2", "int2", "float4e2m1"])
def test_packed_entries_may_be_negative(element, tmp_path):
    x, scale = random_codes(np.random.default_rng(2), element, [301]), floats(0.25)
    tensor = typed(x, "x", signed=True)
    assert min(tensor.int32_data) < 0
    assert_same(convert_tensors(tmp_path, tensor, typed(scale, "scale")), dequantized(x, scale))


@pytest.mark.parametrize("element", ["float16", "bfloat16"])
def test_scales_of_16_bits_are_read_from_int32_data(element, tmp_path):
    rng = np.random.default_rng(3)
    x, scale = random_codes(rng, "int8", [4, 5]), floats(rng.normal(size=4), element)
    y = convert_tensors(tmp_path, x.tensor("x"), typed(scale, "scale"))
    assert_same(y, dequantized(x, scale, axis=0))


@pytest.mark.parametrize("entries", [
    wire.field(5, bytes([1, 2, 3, 100, 5])),
    b"".join(wire.field(5, v) for v in (1, 2, 3, 100, 5)),
    wire.field(5, 1) + wire.field(5, bytes([2, 3])) + wire.field(5, b"")
    + wire.field(5, bytes([100, 5]))])
def test_repeated_fields_may_be_packed_or_not_or_both(entries, tmp_path):
    x, scale = TensorProto(name="x", data_type=TensorProto.INT8, dims=[5]), floats(2.0)
    made = model([node("DequantizeLinear", "x scale", "y")], outputs=[value("y", shape=[5])],
                 initializers=[x, scale.tensor("scale")])
    source = tmp_path / "in.onnx"
    source.write_bytes(wire.change(made.SerializeToString(),
                                   [wire.MODEL_GRAPH, wire.GRAPH_INITIALIZER],
                                   lambda t: t + entries if t == x.SerializeToString() else t))
    converted, _ = convert(source)
    assert_same(initializer(converted, "y"), dequantized(codes("int8", [1, 2, 3, 100, 5]), scale))


def test_tensor_larger_than_the_memory_comes_out_the_same(tmp_path):
    rng = np.random.default_rng(4)
    x, scale = random_codes(rng, "int4", [7, 60_001, 3]), floats(rng.normal(size=[7, 8572, 3]))
    zero = random_codes(rng, "int4", [7, 8572, 3])
    source = linear(tmp_path, x, scale, zero, axis=1, block_size=7)
    converted, _ = convert(source, "--mem", "1")
    assert_same(initializer(converted, "y"), dequantized(x, scale, zero, 1, 7))
    dequant("convert", source, "-o", tmp_path / "other.onnx")
    assert (tmp_path / "other.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()


@pytest.mark.parametrize("element", ["int4", "int16", "float8e5m2"])
def test_typed_tensor_larger_than_the_memory_comes_out_the_same(element, tmp_path):
    rng = np.random.default_rng(5)
    x, scale = random_codes(rng, element, [3, 200_003]), floats(rng.normal(size=3))
    assert_same(convert_tensors(tmp_path, typed(x, "x"), typed(scale, "scale")),
                dequantized(x, scale, axis=0))
