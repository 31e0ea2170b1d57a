"""Tensors whose type, shape and data contradict each other: exit code 3 before anything is written.
And those that are legal, but not what dequant reads."""

import struct

import numpy as np
import onnx
import pytest

from hostile_support import (COMPLEX64, DEQUANTIZE, FLOAT, FLOAT4, FLOAT16, INT2, INT4, INT8, INT32,
                             MIB, STRING, UINT4, UINT8, assert_refused, convert, fixed32,
                             initializer, int_attribute, listing, model, node, num, packed,
                             quantized, reason, sub, tensor, value)

SIX = bytes(6)


def with_x(*fields, dims=(2, 3), data_type=INT8, raw=None, **options):
    return quantized(x=tensor("x", dims, data_type, *fields, raw=raw), **options)


def with_scale(*fields, data_type=FLOAT, raw=None):
    return quantized(scale=tensor("s", [], data_type, *fields, raw=raw))


SHAPES = {
    "negative": [-2, 3], "least": [1 << 63], "product of 2^64": [1 << 32, 1 << 32],
    "product of 2^63": [1 << 62, 2], "product of 2^64 with a zero behind": [1 << 32, 1 << 32, 0],
    "product of 2^64 with a zero before": [0, 1 << 32, 1 << 32], "10^5 dimensions": [1] * 10**5,
    "larger than raw_data": [1 << 40], "larger than any disk": [1 << 60],
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("data", [{"raw": SIX}, {"raw": b""}, {}], ids=["raw", "empty", "none"])
def test_shapes_that_cannot_be_are_refused(tmp_path, name, data):
    assert_refused(tmp_path, with_x(dims=SHAPES[name], **data), 3)


@pytest.mark.parametrize("dims", [[2, 0], [0], [0, 1 << 40]])
def test_a_shape_with_a_zero_has_no_elements(tmp_path, dims):
    outcome = convert(tmp_path, with_x(dims=dims, raw=b""))
    assert outcome.code == 0, outcome
    assert list(onnx.load(tmp_path / "out.onnx").graph.initializer[0].dims) == dims


def test_a_tensor_may_have_1024_dimensions(tmp_path):
    assert convert(tmp_path, with_x(dims=[1] * 1022 + [2, 3], raw=SIX)).code == 0


RAW = {  # bytes of raw_data for 6 elements of a type
    UINT8: 6, INT8: 6, UINT4: 3, INT4: 3, FLOAT4: 3, INT2: 2, INT32: 24,
}


@pytest.mark.parametrize("data_type", RAW)
@pytest.mark.parametrize("off", [-1, 0, 1])
def test_raw_data_must_be_exactly_as_long_as_its_shape(tmp_path, data_type, off):
    data = with_x(data_type=data_type, raw=bytes(RAW[data_type] + off), opset=25,
                  zero=tensor("z", [], data_type, raw=bytes(4 if data_type == INT32 else 1)))
    if off == 0:
        assert convert(tmp_path, data).code == 0
    else:
        assert_refused(tmp_path, data, 3, "tensor x", f"{RAW[data_type] + off} bytes stored")


@pytest.mark.parametrize("data_type, size", [(FLOAT, 3), (FLOAT, 5), (FLOAT16, 1), (FLOAT16, 3)])
def test_a_scale_of_broken_elements_is_refused(tmp_path, data_type, size):
    assert_refused(tmp_path, with_scale(data_type=data_type, raw=bytes(size)), 3, "tensor s")


@pytest.mark.parametrize("data_type", [UINT4, INT4, FLOAT4, INT2])
@pytest.mark.parametrize("data", [sub(9, b"\1"), packed(5, [1])], ids=["raw", "int32_data"])
def test_a_byte_cannot_stand_for_700_million_elements(tmp_path, data_type, data):
    model_bytes = with_x(data, dims=[700_000_000], data_type=data_type, opset=25,
                         zero=tensor("z", [], data_type, raw=b"\0"))
    (tmp_path / "hostile.onnx").write_bytes(model_bytes)
    assert convert(tmp_path, model_bytes, address_space=64 * MIB).code == 3
    assert_refused(tmp_path, model_bytes, 3, "tensor x")


@pytest.mark.parametrize("exponent", [20, 30, 40, 60])
def test_no_room_is_made_for_typed_data_that_is_not_there(tmp_path, exponent):
    data = with_x(packed(5, [1]), dims=[1 << exponent])
    assert convert(tmp_path, data, address_space=64 * MIB).code == 3
    assert_refused(tmp_path, data, 3, "tensor x")


CONTRADICTIONS = {
    "raw_data and int32_data": with_x(packed(5, [1] * 6), raw=SIX),
    "int32_data and int64_data": with_x(packed(5, [1] * 6), packed(7, [1] * 6)),
    "empty raw_data and int32_data": with_x(packed(5, [1] * 6), raw=b""),
    "no data": with_x(),
    "empty int32_data": with_x(sub(5)),
    "int64_data of int8": with_x(packed(7, [1] * 6)),
    "float_data of int8": with_x(sub(4, bytes(24))),
    "string_data of int8": with_x(*[sub(6, "a")] * 6),
    "int32_data too short": with_x(packed(5, [1] * 5)),
    "int32_data too long": with_x(packed(5, [1] * 7)),
    "int32_data over 8 bits": with_x(packed(5, [1, 1, 1, 1, 1, 128])),
    "int32_data under 8 bits": with_x(packed(5, [1, 1, 1, 1, 1, -129])),
    "int32_data of 2^32": with_x(packed(5, [1, 1, 1, 1, 1, 1 << 32])),
    "int32_data negative for uint8": with_x(packed(5, [1] * 5 + [-1]), data_type=UINT8,
                                            zero=tensor("z", [], UINT8, raw=b"\1")),
    "uint4 entry over a byte": with_x(packed(5, [1, 1, 256]), data_type=UINT4,
                                      zero=tensor("z", [], UINT4, raw=b"\1")),
    "float_data of two floats": with_scale(sub(4, bytes(8))),
    "float_data without one": with_scale(),
    "int32_data of float": with_scale(packed(5, [1])),
    "float16 over 16 bits": with_scale(packed(5, [65536]), data_type=FLOAT16),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_data_that_contradicts_its_type_or_shape_is_refused(tmp_path, name):
    assert_refused(tmp_path, CONTRADICTIONS[name], 3, "tensor ")


@pytest.mark.parametrize("data", [with_x(sub(5, b"\1\1\1\1\1\x80")), with_scale(sub(4, bytes(3)))],
                         ids=["int32_data cut", "float_data of 3 bytes"])
def test_packed_data_that_protobuf_cannot_parse_is_refused(tmp_path, data):
    assert_refused(tmp_path, data, 3, "malformed protobuf")


def test_typed_data_is_read_packed_and_one_by_one(tmp_path):
    parts = packed(5, [0x21, 0x43]) + num(5, 0x65)
    data = with_x(parts, data_type=UINT4, zero=tensor("z", [], UINT4, packed(5, [1])))
    assert convert(tmp_path, data).code == 0
    y = onnx.numpy_helper.to_array(onnx.load(tmp_path / "out.onnx").graph.initializer[0])
    assert (y == np.array([[0, .5, 1], [1.5, 2, 2.5]], np.float32)).all()


@pytest.mark.parametrize("data_type", [0, 99, -1, STRING, COMPLEX64, FLOAT])
def test_types_that_are_not_quantized_are_left_with_the_reason(tmp_path, data_type):
    data = with_x(data_type=data_type, raw=SIX if data_type != FLOAT else bytes(24))
    assert convert(tmp_path, data).code == 0
    assert (tmp_path / "out.onnx").read_bytes() == data
    assert reason(tmp_path) != ""


def test_segments_are_not_supported(tmp_path):
    assert_refused(tmp_path, with_x(sub(3, num(1, 0), num(2, 6)), raw=SIX), 4, "segment")


def test_a_sparse_scale_is_left_with_the_reason(tmp_path):
    sparse = sub(15, sub(1, tensor("s", [1], FLOAT, raw=struct.pack("<f", 1))),
                 sub(2, tensor("", [1], 7, raw=bytes(8))), num(3, 1))
    data = model(DEQUANTIZE, initializer(tensor("x", [6], INT8, raw=SIX)),
                 initializer(tensor("z", [], INT8, raw=b"\1")), sparse, value(12, "y"))
    assert convert(tmp_path, data).code == 0
    assert "sparse" in reason(tmp_path)


def test_a_tensor_attribute_in_two_parts_is_not_supported(tmp_path):
    half = sub(5, tensor("t", [1], INT8, raw=b"\1"))
    data = quantized(node("Constant", [], ["c"], sub(5, sub(1, "value"), half, half)))
    assert_refused(tmp_path, data, 4, "value")


ATTRIBUTES = {
    "float axis": sub(5, sub(1, "axis"), fixed32(2, 1.0), num(20, 1)),
    "axis of no type but float": sub(5, sub(1, "axis"), fixed32(2, 1.0), num(20, 6)),
    "text block_size": sub(5, sub(1, "block_size"), sub(4, "2"), num(20, 3)),
    "axis twice": int_attribute("axis", 0) * 2,
    "unknown output_dtype": int_attribute("output_dtype", 99),
    "unknown attribute": int_attribute("colour", 1),
    "huge block_size": int_attribute("block_size", (1 << 63) - 1),
    "negative block_size": int_attribute("block_size", -1),
    "axis beyond the rank": int_attribute("axis", 2) + int_attribute("block_size", 2),
    "least axis": int_attribute("axis", -1 << 63) + int_attribute("block_size", 2),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_broken_attributes_leave_the_node_and_fail_its_evaluation(tmp_path, name):
    data = quantized(dq=node("DequantizeLinear", ["x", "s", "z"], ["y"], ATTRIBUTES[name]),
                     opset=25)
    assert convert(tmp_path, data).code == 0
    assert (tmp_path / "out.onnx").read_bytes() == data
    assert reason(tmp_path) != ""
    (tmp_path / "out.onnx").unlink()
    assert_refused(tmp_path, data, 3, "node y", commands=["run"])


def test_many_tensors_that_are_only_named_cost_no_memory(tmp_path):
    """Shapes may claim anything while nobody needs their data."""
    claims = b"".join(initializer(tensor(f"t{i}", [1 << 50], INT8)) for i in range(1000))
    assert convert(tmp_path, quantized(claims), address_space=64 * MIB).code == 0
    assert listing(tmp_path) == ["hostile.onnx", "out.onnx"]
