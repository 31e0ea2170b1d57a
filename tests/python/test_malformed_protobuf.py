"""Bytes that protobuf refuses as an ONNX model are refused with exit code 3, wherever in the model
they are, and what protobuf accepts is not called malformed."""

import os
import random

import onnx
import pytest
from onnx import helper

from hostile_support import (INT8, attribute, fixed32, initializer, key, node, num, quantized, sub,
                             tensor, varint)
from malformed_support import WHOLE, judge, judge_all, nested
from support import EXAMPLES

MUTANTS = int(os.environ.get("DEQUANT_MUTANTS", "500"))


def groups(depth):
    return key(99, 3) * depth + key(99, 4) * depth


def types(depth):
    """A sequence of sequences ...: two messages a level, in the type of an input."""
    inner = sub(1, num(1, 1))
    for _ in range(depth):
        inner = sub(4, sub(1, inner))
    return quantized(sub(11, sub(1, "deep"), sub(2, inner)))


BAD = key(99, 7)
WORDS = sub(1, "key"), sub(2, "value")
REFUSED = {
    "wire type 7 in metadata_props": quantized(more=sub(14, BAD)),
    "wire type 6 in metadata_props of a node": quantized(node("Foo", [], [],
                                                              sub(9, *WORDS, key(5, 6)))),
    "length beyond its message in a node's doc string": quantized(node("Foo", [], [],
                                                                       key(6, 2) + varint(9))),
    "length beyond its message in a dimension": quantized(
        sub(11, sub(1, "v"),
            sub(2, sub(1, num(1, 1), sub(2, sub(1, key(2, 2) + varint(2) + b"N")))))),
    "truncated varint in a dimension": quantized(
        sub(11, sub(1, "v"), sub(2, sub(1, num(1, 1), sub(2, sub(1, key(1, 0) + b"\x80")))))),
    "truncated varint in ints": quantized(node("Foo", [], [],
                                               attribute("a", sub(8, b"\1\x80"), kind=7))),
    "varint of 11 bytes in ints": quantized(
        node("Foo", [], [], attribute("a", sub(8, b"\x80" * 10 + b"\1"), kind=7))),
    "floats of 7 bytes": quantized(node("Foo", [], [], attribute("a", sub(7, bytes(7)), kind=6))),
    "double_data of 12 bytes": quantized(initializer(tensor("t", [1], 11, sub(10, bytes(12))))),
    "int64_data cut": quantized(initializer(tensor("t", [1], 7, sub(7, b"\xff")))),
    "values of a sparse tensor": quantized(sub(15, sub(1, tensor("t", [1], 1), BAD))),
    "dims of a sparse tensor": quantized(sub(15, sub(3, b"\x80"))),
    "training graph": quantized(more=sub(20, sub(2, sub(1, sub(4, "A"), BAD)))),
    "binding of a training graph": quantized(more=sub(20, sub(3, BAD))),
    "attribute of a function": quantized(more=sub(25, sub(1, "F"), sub(10, "f"), sub(11, BAD))),
    "metadata of a function": quantized(more=sub(25, sub(1, "F"), sub(10, "f"), sub(14, BAD))),
    "type in an attribute": quantized(node("Foo", [], [],
                                           attribute("a", sub(14, sub(5, sub(2, BAD)))))),
    "device configuration": quantized(more=sub(26, BAD)),
    "sharding of a node": quantized(node("Foo", [], [], sub(10, sub(2, sub(4, sub(2, BAD)))))),
    "segment": quantized(initializer(tensor("t", [1], 1, sub(3, BAD)))),
    "quantization annotation": quantized(sub(14, sub(1, "y"), sub(2, BAD))),
    "group that ends another": quantized(more=sub(14, key(9, 3) + key(8, 4))),
    "group that ends outside its message": quantized(more=sub(14, key(9, 3)) + key(9, 4)),
    "end of no group in a message": quantized(more=sub(14, key(9, 4))),
    "broken field in an unknown group": quantized(more=key(99, 3) + key(1, 7) + key(99, 4)),
    "tag of 6 bytes": quantized(more=b"\x98\x86\x80\x80\x80\0\1"),
    "tag of 33 bits": quantized(more=b"\xf8\xff\xff\xff\x1f\1"),
    "length of 6 bytes": quantized(more=key(99, 2) + b"\x81\x80\x80\x80\x80\0a"),
    "length of 2^31": quantized(more=key(99, 2) + varint(1 << 31)),
    "101 groups": quantized(more=groups(101)), "33 graphs": nested(33), "50 types": types(50),
}
ACCEPTED = {
    "bad bytes in a text": quantized(more=sub(6, BAD + b"\xff\xfe")),
    "bad bytes in an unknown field": quantized(more=sub(99, BAD)),
    "bad bytes in raw_data": quantized(initializer(tensor("t", [2], INT8, raw=BAD))),
    "bad bytes in string_data": quantized(initializer(tensor("t", [1], 8, sub(6, BAD)))),
    "metadata_props as a number": quantized(more=num(14, 1)),
    "known group": quantized(more=key(14, 3) + num(1, 1) + key(14, 4)),
    "doc string as fixed32": quantized(more=fixed32(6, 1.0)),
    "varint of 70 bits": quantized(more=key(99, 0) + b"\xff" * 9 + b"\x7f"),
    "tag of 5 bytes": quantized(more=b"\x98\x86\x80\x80\0\1"),
    "length of 5 bytes": quantized(more=key(99, 2) + b"\x81\x80\x80\x80\0a"),
    "end of a group with needless bytes": quantized(more=key(99, 3) + b"\x9c\x86\x80\0"),
    "100 groups": quantized(more=groups(100)), "32 graphs": nested(32), "48 types": types(48),
}


@pytest.mark.parametrize("name", REFUSED)
def test_malformed_parts_that_are_only_copied_were_written(tmp_path, name):
    assert judge(tmp_path, "m", REFUSED[name]) == (False, 3)


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_protobuf_accepts_is_accepted(tmp_path, name):
    assert judge(tmp_path, "m", ACCEPTED[name]) == (True, 0)


def paths():
    """Of each kind of message the field numbers that lead to it from the model, and its
    descriptor."""
    found, queue = {}, [((), onnx.ModelProto.DESCRIPTOR)]
    while queue:
        path, kind = queue.pop(0)
        if kind.full_name in found:
            continue
        found[kind.full_name] = path, kind
        queue += [((*path, f.number), f.message_type) for f in kind.fields if f.message_type]
    return found.values()


def within(path, content):
    """A model with a field of this content at the end of the path."""
    for number in reversed(path):
        content = sub(number, content)
    return quantized(more=content)


CONTENTS = {
    "a broken message": lambda n: sub(n, BAD), "a truncated varint": lambda n: sub(n, b"\1\x80"),
    "three bytes": lambda n: sub(n, b"\1\1\1"), "twelve bytes": lambda n: sub(n, bytes([8, 0] * 6)),
    "a length beyond its message": lambda n: key(n, 2) + b"\1", "a number": lambda n: num(n, 1),
    "a fixed32": lambda n: fixed32(n, 1), "a fixed64": lambda n: key(n, 1) + bytes(8),
    "a group": lambda n: key(n, 3) + key(n, 4), "a group with a broken field": lambda n: key(n, 3)
    + BAD + key(n, 4)}


def test_every_field_of_every_message_is_held_against_protobuf(tmp_path):
    def variants():
        for path, kind in paths():
            numbers = {f.number for f in kind.fields}
            for number in numbers | {max(numbers) + 1}:  # and one that is unknown
                for what, content in CONTENTS.items():
                    yield f"{kind.name} {number} {what}", within(path, content(number))
    verdicts = [good for good, _ in judge_all(tmp_path, variants())]
    assert verdicts.count(True) > 500 and verdicts.count(False) > 300


def fill(message, depth):
    """A value in every field, messages within messages so deep."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type:
            if depth > 0:
                inner = getattr(message, field.name)
                fill(inner.add() if field.is_repeated else inner, depth - 1)
                continue
            continue
        one = {field.CPPTYPE_STRING: "text", field.CPPTYPE_FLOAT: 1.5,
               field.CPPTYPE_DOUBLE: 2.5}.get(field.cpp_type, 1)
        one = one.encode() if field.type == field.TYPE_BYTES else one
        if field.is_repeated:
            getattr(message, field.name).extend([one, one])
        else:
            setattr(message, field.name, one)
    return message


def everything():
    """WHOLE with all that is only copied: metadata, types, sparse tensors, training and unknown
    fields."""
    proto = onnx.ModelProto.FromString(WHOLE + num(99, 5) + groups(2))
    kept = proto.graph.node.add(op_type="Foo", output=["foo"])
    fill(kept.device_configurations.add(), 5)
    kept.metadata_props.add(key="k", value="v")
    kept.attribute.extend(helper.make_attribute(k, v) for k, v in {
        "f": 1.5, "i": 3, "s": "text", "fs": [1.0, 2.0], "is": [1, -2, 300],
        "ss": ["a", "b"]}.items())
    fill(kept.attribute.add(name="t", type=onnx.AttributeProto.TYPE_PROTO).tp, 4)
    fill(proto.graph.value_info.add(name="deep").type, 5)
    fill(proto.graph.sparse_initializer.add(dims=[2]).values, 0).ClearField("data_location")
    fill(proto.configuration.add(), 1)
    fill(proto.training_info.add().initialization_binding.add(), 0)
    proto.metadata_props.add(key="k", value="v")
    proto.graph.metadata_props.add(key="k", value="v")
    proto.functions[0].attribute_proto.add(name="a", i=1, type=2)
    return proto.SerializeToString()


def data_of(message):
    """The payloads of raw_data in a model."""
    return [t.raw_data for t in onnx.ModelProto.FromString(message).graph.initializer
            if len(t.raw_data) > 8]


def structure(message):
    """The offsets of all bytes that are no tensor data."""
    free = bytearray(b"\1" * len(message))
    for raw in data_of(message):
        at = message.index(raw)
        free[at:at + len(raw)] = bytes(len(raw))
    return [i for i, is_free in enumerate(free) if is_free]


def mutant(message, offsets, rng):
    """The message with one to three small changes."""
    out = bytearray(message)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.choice(offsets)
        if at >= len(out):
            continue
        kind = rng.randrange(6)
        if kind == 0:
            out[at] = rng.randrange(256)
        elif kind == 1:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            out[at] = rng.choice((0, 0x7F, 0x80, 0xFF))
        elif kind == 3:
            del out[at:at + rng.randrange(1, 4)]
        elif kind == 4:
            out[at:at] = rng.randbytes(rng.randrange(1, 4))
        else:
            out[at] = (out[at] & 0xF8) | rng.randrange(8)  # another wire type, where this is a tag
    return bytes(out)


SEEDS = {"everything": everything(),
         "digits_int4": (EXAMPLES / "digits_qdq_int4.onnx").read_bytes(),
         "digits_int8": (EXAMPLES / "digits_qdq_int8.onnx").read_bytes()}


@pytest.mark.parametrize("seed", SEEDS)
def test_mutants_are_refused_where_protobuf_refuses_them(tmp_path, seed):
    rng, message = random.Random(seed), SEEDS[seed]
    offsets = structure(message)
    assert judge(tmp_path, "unchanged", message) == (True, 0)
    mutants = ((str(i), mutant(message, offsets, rng)) for i in range(MUTANTS))
    outcomes = judge_all(tmp_path, mutants)
    assert len([code for good, code in outcomes if not good and code == 3]) > MUTANTS // 5
    assert len([code for good, code in outcomes if good and code == 0]) > MUTANTS // 20
