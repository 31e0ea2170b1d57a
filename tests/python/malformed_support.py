"""What protobuf says of bytes that may be an ONNX model, and whether dequant says the same. The
judge is the parser in Python's protobuf (upb), with which that of C++ agrees; the one written in
Python is more lenient with numbers of too many bytes."""

import concurrent.futures
import os
import struct
import subprocess

import onnx
from google.protobuf.internal import api_implementation

from hostile_support import (CLI, INT8, annotation, attribute, graph, initializer, int_attribute,
                             listing, node, num, packed, quantized, sub, tensor, value)

assert api_implementation.Type() in ("upb", "cpp"), "this is not the parser that judges"


def accepted(data):
    """What protobuf says."""
    try:
        onnx.ModelProto.FromString(data)
        return True
    except Exception:  # pylint: disable=broad-except
        return False


def judge(folder, name, data):
    """Asserts that dequant says what protobuf says; returns what that is."""
    source, target, good = folder / f"{name}.onnx", folder / f"{name}.out", accepted(data)
    source.write_bytes(data)
    done = subprocess.run([CLI, "convert", source, "-o", target, "-q", "-T1"], timeout=60,
                          check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    malformed = "malformed protobuf" in done.stderr or "messages nested more than" in done.stderr
    assert "wire type" not in done.stderr or malformed, (name, done)
    assert malformed != good, (name, done)
    assert done.returncode in ((0, 3, 4, 5) if good else (3,)), (name, done)
    assert target.exists() == (done.returncode == 0), (name, done)
    if target.exists():
        assert accepted(target.read_bytes()), name
        target.unlink()
    source.unlink()
    return good, done.returncode


def judge_all(folder, variants):
    """variants: (name, data). The verdicts."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(lambda v: judge(folder, *v), variants))
    assert listing(folder) == []
    return verdicts


def nested(depth):
    """Graphs within If within graphs: three messages a level."""
    inner = graph(node("Relu", ["y"], ["deep"]))
    for _ in range(depth):
        inner = graph(node("If", ["c"], ["deep"], attribute("then_branch", sub(6, inner), kind=5)))
    return num(1, 10) + sub(7, inner) + sub(8, num(2, 21))


# A model with some of everything that is read.
WHOLE = quantized(
    node("Constant", [], ["c"],
         attribute("value", sub(5, tensor("", [], INT8, raw=b"\1")), kind=4)),
    node("If", ["out"], ["w"], attribute("then_branch", sub(6, graph(
        node("DequantizeLinear", ["x", "s"], ["w"], int_attribute("axis", 0)), value(12, "w"))),
                                         kind=5)),
    initializer(tensor("f", [2], INT8, packed(5, [1, 2]))),
    node("DequantizeLinear", ["f", "fs"], ["ff"]),
    initializer(tensor("fs", [], 1, sub(4, struct.pack("<f", 2)))),
    value(13, "ff", dims=(2,)), annotation("y", "z"), value(11, "in"),
    more=sub(25, sub(1, "F"), sub(5, "o"), sub(7, sub(2, "o"), sub(4, "Foo")), sub(9, num(2, 21)),
             sub(10, "f")))
