"""`dequant convert` finds constants in initializers, Constant nodes, and behind Identity nodes, and
does not take for constant what a caller can change."""

import onnx
import pytest
from onnx import numpy_helper

from arithmetic import assert_same, codes_of, dequantized, floats
from support import (SCALE, TENSORS, X, Y, ZERO, assert_same_outputs, constant, convert, dq,
                     initializer, model, names, node, op_types, reasons, save, value)

@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_constant_nodes_are_constant_and_go(domain, tmp_path):
    nodes = [constant("x", X), constant("scale", SCALE), constant("zero", ZERO)]
    for n in nodes:
        n.domain = domain
    converted, _ = convert(save(model([*nodes, dq()]), tmp_path / "in.onnx"))
    assert_same(initializer(converted, "y"), Y)
    assert op_types(converted) == []


@pytest.mark.parametrize("attribute, scale", [({"value_float": 0.3}, floats(0.3)),
                                              ({"value_floats": [0.3]}, floats([0.3])),
                                              ({"value_floats": [0.3, -2.5]}, floats([0.3, -2.5]))])
def test_scale_may_be_a_float_attribute(attribute, scale, tmp_path):
    nodes = [node("Constant", "", "scale", **attribute), dq("x scale", axis=0)]
    converted, _ = convert(save(model(nodes, initializers=[X.tensor("x")]), tmp_path / "in.onnx"))
    assert_same(initializer(converted, "y"), dequantized(X, scale, axis=0))
    assert op_types(converted) == []


def test_constants_are_found_through_identity_nodes(tmp_path):
    nodes = [constant("a", X), node("Identity", "a", "b"), node("Identity", "b", "c"),
             node("Identity", "scale", "s"), node("Identity", "zero", "z"), dq("c s z")]
    converted, _ = convert(save(model(nodes, initializers=TENSORS[1:]), tmp_path / "in.onnx"))
    assert_same(initializer(converted, "y"), Y)
    assert (op_types(converted), names(converted)) == ([], ["y"])


def test_identity_that_others_read_stays(tmp_path):
    nodes = [node("Identity", "zero", "z"), dq("x scale z"),
             node("Cast", "z", "w", to=onnx.TensorProto.FLOAT)]
    source = save(model(nodes, outputs=["y", value("w", shape=[])], initializers=TENSORS),
                  tmp_path / "in.onnx")
    converted, _ = convert(source)
    assert (op_types(converted), names(converted)) == (["Identity", "Cast"], ["zero", "y"])
    assert_same_outputs(source, tmp_path / "out.onnx", runs=1)


def overridable(overridden=("x", "scale", "zero"), ir_version=10, nodes=(), outputs=("y",)):
    shapes = {"x": value("x", "int8"), "scale": value("scale", shape=[]),
              "zero": value("zero", "int8", [])}
    return model([dq(), *nodes], ["in", *(shapes[name] for name in overridden)], [*outputs, "out"],
                 TENSORS,
                 ir_version=ir_version)


ABS = node("Abs", "in", "out")


@pytest.mark.parametrize("name", ["x", "scale", "zero"])
def test_overridable_initializer_is_not_constant(name, tmp_path):
    source = save(overridable([name], nodes=[ABS]), tmp_path / "in.onnx")
    _, report = convert(source)
    assert reasons(report) == {
        "dq": f"{name} is a graph input and can be overridden (assume-const takes its value)"}
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()


def test_assume_const_takes_the_input_with_the_initializer(tmp_path):
    converted, _ = convert(save(overridable(nodes=[ABS]), tmp_path / "in.onnx"), "--assume-const")
    assert_same(initializer(converted, "y"), Y)
    assert ([i.name for i in converted.graph.input], names(converted)) == (["in"], ["y"])


def test_assume_const_leaves_an_input_that_others_read(tmp_path):
    cast = node("Cast", "zero", "w", to=onnx.TensorProto.FLOAT)
    proto = overridable(nodes=[ABS, cast], outputs=["y", value("w", shape=[])])
    converted, _ = convert(save(proto, tmp_path / "in.onnx"), "--assume-const")
    assert ([i.name for i in converted.graph.input], names(converted)) == (["in", "zero"],
                                                                           ["zero", "y"])


def test_ir_version_3_model_gets_a_constant_node(tmp_path):
    """Before IR 4 every initializer is a graph input, so a new one may not be added."""
    proto = overridable(ir_version=3, nodes=[ABS])
    proto.opset_import[0].version = 10
    source = save(proto, tmp_path / "in.onnx")
    _, report = convert(source)
    assert "can be overridden" in reasons(report)["dq"]
    converted, _ = convert(source, "--assume-const", "--force")
    assert (op_types(converted), names(converted)) == (["Constant", "Abs"], [])
    assert_same(codes_of(numpy_helper.to_array(converted.graph.node[0].attribute[0].t)), Y)
    assert_same_outputs(source, tmp_path / "out.onnx", runs=2)
