"""Bytes that are no protobuf message, or one that nobody writes: refused with exit code 3, or read
as protobuf reads them."""

import itertools
import os

import onnx
import pytest

from hostile_support import (DEQUANTIZE, INT8, MIB, SCALE, X, ZERO, assert_refused, attribute,
                             convert, fixed32, graph, initializer, key, listing, model, node, num,
                             packed, quantized, run, sub, value, varint)
from malformed_support import WHOLE, judge_all, nested


def unknown(data):
    """The data as an unknown field of the model."""
    return quantized(more=data)


NO_MODEL = {
    "empty file": b"",
    "text": b"This is not a model.\n" * 20,
    "zip": b"PK\3\4" + bytes(100),
    "zeros": bytes(1000),
    "ones": b"\xff" * 1000,
    "varint of 11 bytes": unknown(key(99, 0) + b"\x80" * 10 + b"\1"),
    "varint without end": unknown(key(99, 0) + b"\x80"),
    "tag of 65 bits": unknown(b"\xf8" + b"\xff" * 8 + b"\x7f\0"),
    "field number 0": unknown(b"\0\0"),
    "field number 0, overlong": unknown(b"\x80\0\0"),
    "field number 2^29": unknown(varint(1 << 32) + b"\0"),
    "end of no group": unknown(key(99, 4)),
    "wire type 6": unknown(key(99, 6) + bytes(8)),
    "wire type 7": unknown(key(99, 7) + bytes(8)),
    "fixed32 cut": unknown(key(99, 5) + bytes(3)),
    "fixed64 cut": unknown(key(99, 1) + bytes(7)),
    "group without end": unknown(key(99, 3) + num(1, 1)),
    "end of another group": unknown(key(99, 3) + key(98, 4)),
    "end in a group within a message": quantized(dq=sub(1, key(99, 3)) + key(99, 4)),
    "10^6 groups": unknown(key(99, 3) * 10**6),
    "10^6 groups with ends": unknown(key(99, 3) * 10**6 + key(99, 4) * 10**6),
    **{f"length {n}": unknown(key(99, 2) + varint(n) + b"abc") for n in (4, 1 << 31, 1 << 63, -1)},
    **{f"length {n} in a tensor": quantized(x=X + key(9, 2) + varint(n))
       for n in (1, 1 << 31, 1 << 63, -1)},
}


@pytest.mark.parametrize("name", NO_MODEL)
def test_bytes_that_are_no_message_are_refused(tmp_path, name):
    # What looks like another format is named as such.
    assert_refused(tmp_path, NO_MODEL[name], 4 if name in ("text", "zip") else 3)


X_HEAD = num(1, 2) + num(1, 3) + num(2, INT8) + sub(8, "x")
WRONG_TYPES = {
    "ir_version as bytes": quantized(more=sub(1, b"\x0a")),
    "graph as a number": num(1, 10) + num(7, 1),
    "opset version as bytes": quantized(more=sub(8, sub(2, b"\x15"))),
    "node as a number": quantized(num(1, 3)),
    "initializer as a number": quantized(num(5, 3)),
    "input as fixed32": quantized(fixed32(11, 1.0)),
    "op_type as a number": quantized(sub(1, num(4, 4))),
    "data_type as bytes": quantized(x=X + sub(2, b"\3")),
    "data_type as fixed32": quantized(x=X + fixed32(2, 0)),
    "data_location as fixed32": quantized(x=X + fixed32(14, 0)),
    "tensor name as a number": quantized(x=X + num(8, 1)),
    "raw_data as a number": quantized(x=X_HEAD + num(9, 1)),
    "external_data as a number": quantized(x=X + num(13, 1)),
    "external key as a number": quantized(x=X_HEAD + sub(13, num(1, 1)) + num(14, 1)),
    "dims as fixed32": quantized(x=X + fixed32(1, 0)),
    "int32_data as fixed32": quantized(x=X_HEAD + fixed32(5, 0) * 6),
    "attribute number as fixed32": quantized(
        dq=node("DequantizeLinear", ["x", "s", "z"], ["y"],
                attribute("axis", fixed32(3, 0), kind=2))),
    "attribute float as a number": quantized(node("Foo", [], ["foo"], attribute("f", num(2, 0)))),
    "attribute name as a number": quantized(node("Foo", [], ["foo"], sub(5, num(1, 1)))),
    "function as a number": quantized(more=num(25, 1)),
}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_known_fields_of_the_wrong_wire_type_are_unknown_fields_as_in_protobuf(tmp_path, name):
    """The model means what it means without them, and keeps them where its parts are kept."""
    proto = onnx.load_model_from_string(WRONG_TYPES[name])
    proto.DiscardUnknownFields()
    outcomes, outputs = [], []
    for data in (WRONG_TYPES[name], proto.SerializeToString()):
        outcomes.append(convert(tmp_path, data, "--force"))
        if outcomes[-1].code == 0:
            outputs.append(onnx.load(tmp_path / "out.onnx"))
            outputs[-1].DiscardUnknownFields()
    assert outcomes[0].code == outcomes[1].code in (0, 3), outcomes
    assert outputs == [] or outputs[0] == outputs[1]


def test_unknown_fields_of_the_wrong_wire_type_are_kept(tmp_path):
    odd = num(8, 7) + fixed32(4, 1.5)  # the domain and the doc string of an attribute, say
    data = quantized(node("Foo", [], ["foo"], attribute("f", num(2, 0), odd)),
                     sub(1, sub(4, "Foo"), num(7, 5)))
    assert convert(tmp_path, data).code == 0
    written = (tmp_path / "out.onnx").read_bytes()
    assert odd in written and sub(1, sub(4, "Foo"), num(7, 5)) in written


FIRST = [DEQUANTIZE, initializer(X), initializer(SCALE)]
SECOND = [node("Relu", ["y"], ["out"]), initializer(ZERO), value(12, "out", dims=(2, 3))]
LEGAL = {
    "graph in two parts": num(1, 10) + sub(7, graph(*FIRST)) + sub(8, num(2, 21))
    + sub(7, graph(*SECOND)),
    "scalar given twice": quantized(x=num(2, 99) + X),
    "raw_data given twice": quantized(x=sub(9, bytes(99)) + X),
    "dims packed and not": quantized(x=num(1, 2) + packed(1, [3]) + num(2, INT8) + sub(8, "x")
                                     + sub(9, X[-6:])),
    "varint of 10 bytes": unknown(num(99, -1)),
    "varint with needless bytes": unknown(key(99, 0) + b"\x80\x80\0"),
    "varint of 65 bits": unknown(key(99, 0) + b"\xff" * 9 + b"\x02"),
    "100 groups": unknown(key(99, 3) * 100 + key(99, 4) * 100),
    "largest field number": unknown(num((1 << 29) - 1, 1)),
    "the same opset twice": quantized(more=sub(8, num(2, 21))),
}


@pytest.mark.parametrize("name", LEGAL)
def test_unusual_but_legal_messages_are_read_as_protobuf_reads_them(tmp_path, name):
    outcome = convert(tmp_path, LEGAL[name])
    assert outcome.code == 0, outcome
    proto = onnx.load(tmp_path / "out.onnx")
    y = next(t for t in proto.graph.initializer if t.name == "y")
    assert onnx.numpy_helper.to_array(y).tolist() == [[0, 0.5, 1], [-2, -1.5, -1]]
    assert [n.op_type for n in proto.graph.node] == ["Relu"]


MANY = MIB // 2
CROWDS = {  # a few bytes each, over and over
    "nodes": (3, model(sub(1) * MANY)),
    "nodes of one letter": (0, model(sub(1, sub(4, "A")) * (MIB // 5))),
    "inputs": (3, model(sub(11) * MANY)),
    "outputs": (3, model(sub(12) * MANY)),
    "initializers": (3, model(sub(5) * MANY)),
    "graphs": (3, model() + sub(7) * MANY),
    "functions": (3, model(more=sub(25) * MANY)),
    "annotations": (0, model(sub(14) * MANY)),
    "attributes": (3, model(sub(1, sub(4, "A"), sub(5) * MANY))),
    "names in a node": (0, model(sub(1, sub(4, "A"), sub(1) * MANY))),
    "subgraphs": (3, model(sub(1, sub(4, "A"), sub(5, sub(1, "a"), sub(11) * MANY)))),
    "dims": (3, quantized(x=X + num(1, 1) * MANY)),
    "external_data entries": (3, quantized(x=X + sub(13) * MANY)),
}


@pytest.mark.parametrize("name", CROWDS)
def test_a_mebibyte_of_tiny_messages_does_not_fill_the_memory(tmp_path, name):
    code, data = CROWDS[name]
    outcome = convert(tmp_path, data, address_space=160 * MIB)
    assert outcome.code == code, outcome


def test_subgraphs_nested_ten_thousand_deep_are_refused(tmp_path):
    outcome = convert(tmp_path, nested(10_000))
    assert outcome.code == 3 and "nested more than 100 deep" in outcome.err, outcome


def test_a_model_cut_anywhere_is_converted_or_refused(tmp_path):
    outcomes = judge_all(tmp_path, ((str(i), WHOLE[:i]) for i in range(len(WHOLE) + 1)))
    codes = [code for _, code in outcomes]
    assert set(codes) <= {0, 3} and codes[-1] == 0
    assert codes.count(0) < 10  # where a cut falls between the fields behind the graph


def test_a_model_with_any_byte_changed_is_converted_or_refused(tmp_path):
    # All bytes of a model are changed in tests/format/onnx/read_model_test.cc, and in fuzzing.
    places = range(0, len(WHOLE), 11 if "DEQUANT_SANITIZED" in os.environ else 3)

    def variants():
        for i, change in itertools.product(places, (0x01, 0x04, 0x80, 0xFF)):
            yield f"{i}-{change}", WHOLE[:i] + bytes([WHOLE[i] ^ change]) + WHOLE[i + 1:]
    codes = [code for _, code in judge_all(tmp_path, variants())]
    assert codes.count(3) > len(places) // 5 and codes.count(0) > len(places) // 5


def test_an_input_that_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", tmp_path / "missing", "/dev/zero", "/dev/stdin", ""):
        for command in ("inspect", "convert"):
            outcome = run(command, path,
                          *(["-o", tmp_path / "out.onnx"] if command == "convert" else []))
            assert outcome.code == 5 and outcome.err.startswith("dequant: error: "), (path, outcome)
    assert listing(tmp_path) == ["fifo"]
