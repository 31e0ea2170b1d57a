"""Graphs that no runtime could run, or that are built to take forever."""

import onnx
import pytest

from hostile_support import (DEQUANTIZE, FLOAT, INT8, MIB, SCALE, X, ZERO, annotation,
                             assert_refused, attribute, convert, external, graph, initializer,
                             int_attribute, model, node, num, quantized, reason, sub, tensor,
                             value)

TENSORS = [initializer(X), initializer(SCALE), initializer(ZERO)]
RELU = node("Relu", ["y"], ["out"])
OUT = value(12, "out", dims=(2, 3))


def subgraph(*fields):
    return attribute("then_branch", sub(6, graph(*fields)), kind=5)


def function(name, *nodes, domain="f", inputs=("i",), outputs=("o",), more=b""):
    """A FunctionProto of the model; the nodes are payloads made by call()."""
    return sub(25, sub(1, name), *(sub(4, i) for i in inputs), *(sub(5, o) for o in outputs),
               *(sub(7, n) for n in nodes), sub(9, num(2, 21)), sub(10, domain), more)


def call(op, *fields, domain="f", inputs=("i",), outputs=("o",)):
    return b"".join([*(sub(1, i) for i in inputs), *(sub(2, o) for o in outputs), sub(4, op),
                     sub(7, domain), *fields])


BROKEN = {
    "two nodes of one name": (quantized(node("Relu", ["q"], ["y"])), "y"),
    "a node and an initializer of one name": (quantized(node("Relu", ["q"], ["x"])), "x"),
    "a node and an input of one name": (quantized(node("Relu", ["q"], ["a"]), value(11, "a")), "a"),
    "two initializers of one name": (quantized(initializer(X)), "x"),
    "two inputs of one name": (quantized(value(11, "a"), value(11, "a")), "a"),
    "one node with two outputs of one name": (quantized(node("Split", ["q"], ["a", "a"])), "a"),
    "an initializer and a sparse one": (quantized(sub(15, sub(1, X))), "x"),
    "a node without an operator": (quantized(sub(1, sub(2, "a"))), "operator"),
    "an initializer without a name": (quantized(initializer(tensor("", [], FLOAT, raw=bytes(4)))),
                                      "name"),
    "a node that reads itself": (quantized(node("Relu", ["a"], ["a"])), "depends on itself"),
    "a cycle of two": (quantized(node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["a"])),
                       "depends"),
    "a cycle through Identity": (model(node("Identity", ["a"], ["s"]),
                                       node("Identity", ["s"], ["a"]), DEQUANTIZE, initializer(X),
                                       initializer(ZERO)), "depends"),
    "a cycle through a subgraph": (quantized(node("If", ["c"], ["w"], subgraph(
        node("Relu", ["w"], ["q"])))), "depends"),
    "a cycle within a subgraph": (quantized(node("If", ["c"], ["w"], subgraph(
        node("Relu", ["p"], ["q"]), node("Relu", ["q"], ["p"])))), "depends"),
    "a cycle within a function": (
        quantized(more=function("A", call("Relu", inputs="a", outputs="a"))),
                                  "depends"),
    "a cycle of 10^5": (model(*[node("Identity", [f"n{i}"], [f"n{(i + 1) % 10**5}"])
                                for i in range(10**5)]), "depends"),
    "two inputs of one name in a function": (quantized(more=function("A", inputs="ii")), "i"),
    "two functions of one name": (quantized(more=function("A") + function("A")), "function A"),
    "a function that calls itself": (quantized(more=function("A", call("A"))),
                                     "function A calls itself"),
    "functions in a circle": (quantized(more=function("A", call("B")) + function("B", call("A"))),
                              "calls itself"),
    "a function that calls itself from a subgraph": (
        quantized(more=function("A", call("If", subgraph(sub(1, call("A"))), domain=""))),
        "calls itself"),
    "10^4 functions in a circle": (quantized(more=b"".join(
        function(f"F{i}", call(f"F{(i + 1) % 10**4}")) for i in range(10**4))), "calls itself"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_graphs_that_cannot_run_are_refused(tmp_path, name):
    data, word = BROKEN[name]
    assert_refused(tmp_path, data, 3, word)


@pytest.mark.parametrize("name", ["DequantizeLinear", "QuantizeLinear", "Identity", "Constant"])
@pytest.mark.parametrize("domain", ["", "ai.onnx", "com.microsoft"])
def test_functions_that_redefine_what_dequant_evaluates_are_not_supported(tmp_path, name, domain):
    assert_refused(tmp_path, quantized(more=function(name, call("Neg", domain=""), domain=domain)),
                   4, name)


def test_functions_of_one_name_may_differ_by_domain_and_overload(tmp_path):
    data = quantized(more=function("A") + function("A", domain="g")
                     + function("A", more=sub(13, "2")) +
                     function("DequantizeLinear") +
                     function("B", call("A"), call("A", sub(8, "2"), outputs="p")))
    outcome = convert(tmp_path, data)
    assert outcome.code == 0, outcome


UNSUPPORTED = {
    "list of tensors": sub(10, external("t", [1], INT8, location="w")),
    "sparse tensor": sub(22, sub(1, external("t", [1], INT8, location="w"))),
    "list of sparse tensors": sub(23, sub(1, X), sub(2, external("t", [1], INT8, location="w"))),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_external_data_that_would_be_lost_is_not_supported(tmp_path, name):
    data = quantized(node("Foo", [], ["foo"], attribute("a", UNSUPPORTED[name])))
    assert_refused(tmp_path, data, 4, "tensor t")


COMPUTED = node("Relu", ["s0"], ["s"]) + initializer(tensor("s0", [], FLOAT, raw=bytes(4)))
LEFT = {
    "a scale that is an input": (model(DEQUANTIZE, RELU, TENSORS[0], TENSORS[2], value(11, "s"),
                                       OUT), "input"),
    "a scale that is nowhere": (model(DEQUANTIZE, RELU, TENSORS[0], TENSORS[2], OUT), "nowhere"),
    "a computed scale": (model(COMPUTED, DEQUANTIZE, RELU, TENSORS[0], TENSORS[2], OUT), "Relu"),
    "no scale": (quantized(dq=node("DequantizeLinear", ["x", ""], ["y"])), "inputs"),
    "no inputs": (quantized(dq=node("DequantizeLinear", [], ["y"])), "inputs"),
    "four inputs": (quantized(dq=node("DequantizeLinear", ["x", "s", "z", "z"], ["y"])), "inputs"),
    "no output": (quantized(dq=node("DequantizeLinear", ["x", "s", "z"], [])), "outputs"),
    "two outputs": (quantized(dq=node("DequantizeLinear", ["x", "s", "z"], ["y", "y2"])),
                    "outputs"),
    "opset 9": (quantized(opset=9), "opset 9"),
    "opset 999": (quantized(opset=999), "opset 999"),
    "opset -1": (quantized(opset=-1), "opset -1"),
    "no opset": (num(1, 10) + sub(7, graph(DEQUANTIZE, *TENSORS, RELU, OUT)), "operator set"),
}


@pytest.mark.parametrize("name", LEFT)
def test_nodes_that_cannot_be_computed_are_left_byte_for_byte(tmp_path, name):
    data, word = LEFT[name]
    assert convert(tmp_path, data).code == 0
    assert (tmp_path / "out.onnx").read_bytes() == data
    assert word in reason(tmp_path)


def test_an_initializer_that_is_an_input_counts_only_when_the_user_says_so(tmp_path):
    data = quantized(value(11, "s", dims=()))
    assert convert(tmp_path, data).code == 0
    assert (tmp_path / "out.onnx").read_bytes() == data
    assert convert(tmp_path, data, "--assume-const", "--force").code == 0
    assert [n.op_type for n in onnx.load(tmp_path / "out.onnx").graph.node] == ["Relu"]


def test_quantized_constants_that_others_read_stay(tmp_path):
    data = quantized(node("QLinearConv", ["q", "qs", "qz", "x", "s", "z", "ys", "yz"], ["c"]))
    assert convert(tmp_path, data).code == 0
    names = [t.name for t in onnx.load(tmp_path / "out.onnx").graph.initializer]
    assert sorted(names) == ["s", "x", "y", "z"]


def chain(count):
    return [node("Relu", [f"a{i}"], [f"a{i + 1}"]) for i in range(count)]


def dequantizers(count, *more):
    parts = []
    for i in range(count):
        parts += [initializer(tensor(f"x{i}", [4], INT8, raw=b"abcd")),
                  initializer(tensor(f"s{i}", [], FLOAT, raw=b"\0\0\0\x3f")),
                  node("DequantizeLinear", [f"x{i}", f"s{i}"], [f"y{i}"]),
                  node("Relu", [f"y{i}"], [f"o{i}"]),
                  *(m(i) for m in more)]
    return parts


SCALES = tensor("scales", [2], FLOAT, raw=b"\0\0\0\x3f" * 2)
ONE_INPUT = [value(11, "q", INT8), initializer(SCALE), initializer(ZERO)]
#: What the graph is -> a function for its parts, options, and mebibytes of address space.
LARGE = {
    "200000 nodes": (lambda: chain(200_000), [], 256),
    "200000 nodes, the last first": (lambda: reversed(chain(200_000)), [], 256),
    "30000 DequantizeLinear": (lambda: dequantizers(30_000), ["--mem", "192Mi"], 192),
    "30000 DequantizeLinear, stripped": (lambda: dequantizers(30_000),
                                         ["--strip-qdq", "--mem", "192Mi"], 192),
    "10^4 inputs with values": (
        lambda: dequantizers(10**4, lambda i: value(11, f"x{i}", INT8)), ["--assume-const"], 128),
    "10^4 annotations": (
        lambda: dequantizers(10**4, lambda i: annotation(f"y{i}", f"x{i}")), [], 128),
    "5000 Identity in a row for 5000 nodes": (
        lambda: [node("Identity", [f"i{i}"], [f"i{i + 1}"]) for i in range(5000)] +
        [node("DequantizeLinear", ["x", "i5000"], [f"y{i}"]) for i in range(5000)] +
        [initializer(X), initializer(tensor("i0", [], FLOAT, raw=b"\0\0\0\x3f"))], [], 128),
    "5000 DequantizeLinear of one input": (
        lambda: ONE_INPUT +
        [node("DequantizeLinear", ["q", "s", "z"], [f"y{i}"]) for i in range(5000)],
        ["--strip-qdq"], 128),
    "5000 DequantizeLinear of one QuantizeLinear": (
        lambda: ONE_INPUT + [value(11, "f"), node("QuantizeLinear", ["f", "s", "z"], ["p"])] +
        [node("DequantizeLinear", ["p", "s", "z"], [f"y{i}"]) for i in range(5000)],
        ["--strip-qdq"], 128),
    # Uses that were removed were looked at again for each node: 160 seconds.
    "40000 DequantizeLinear of one QuantizeLinear": (
        lambda: ONE_INPUT + [value(11, "f"), node("QuantizeLinear", ["f", "s", "z"], ["p"])] +
        [node("DequantizeLinear", ["p", "s", "z"], [f"y{i}"]) for i in range(40000)],
        ["--strip-qdq", "--mem", "512Mi"], 512),
    "20000 DequantizeLinear behind 20000 Identity": (  # 110 seconds
        lambda: ONE_INPUT + [value(11, "f"), node("QuantizeLinear", ["f", "s", "z"], ["p0"])] +
        [node("Identity", [f"p{i}"], [f"p{i + 1}"]) for i in range(20000)] +
        [node("DequantizeLinear", ["p20000", "s", "z"], [f"y{i}"]) for i in range(20000)],
        ["--strip-qdq", "--mem", "512Mi"], 512),
    "20000 DequantizeLinear of 20000 QuantizeLinear": (  # 54 seconds
        lambda: ONE_INPUT + [value(11, "f")] +
        [node("QuantizeLinear", ["f", "s", "z"], [f"p{i}"]) for i in range(20000)] +
        [node("Concat", [f"p{i}" for i in range(20000)], ["c"], int_attribute("axis", 0)),
         node("Neg", ["c"], ["n"])] +
        [node("DequantizeLinear", ["c", "s", "z"], [f"y{i}"]) for i in range(20000)],
        ["--strip-qdq", "--mem", "512Mi"], 512),
    "40000 DequantizeLinear of one input that stays": (
        lambda: [value(11, "q", INT8), initializer(SCALES), initializer(ZERO)] +
        [node("DequantizeLinear", ["q", "scales"], [f"y{i}"]) for i in range(40000)],
        ["--strip-qdq", "--mem", "512Mi"], 512),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_graphs_take_seconds(tmp_path, name):
    parts, options, mebibytes = LARGE[name]
    outcome = convert(tmp_path, model(*parts()), *options, address_space=mebibytes * MIB)
    assert outcome.code == 0, outcome
