"""`dequant convert` and what stands around a node: what nothing uses any more goes, what others use
stays, and a node that cannot be folded stays with the reason."""

import json

import onnx
import pytest
from onnx import TensorProto, helper

from arithmetic import assert_same, codes, dequantized, floats
from support import (TENSORS, X, Y, ZERO, assert_same_outputs, constant, convert, dequant, dq,
                     initializer, model, names, node, op_types, reasons, save, value)


def test_constant_may_be_a_graph_output(tmp_path):
    source = save(model([dq()], outputs=["y"], initializers=TENSORS), tmp_path / "in.onnx")
    convert(source)
    assert_same_outputs(source, tmp_path / "out.onnx", runs=1)


def test_scale_and_zero_point_shared_by_nodes_go_with_the_last(tmp_path):
    nodes = [dq(), dq("w scale zero", "z", "other")]
    w = codes("int8", [[3, 1, 4], [1, 5, 9]])
    proto = model(nodes, outputs=["y", "z"], initializers=[*TENSORS, w.tensor("w")])
    source = save(proto, tmp_path / "in.onnx")
    converted, _ = convert(source)
    assert names(converted) == ["y", "z"]
    converted, _ = convert(source, "--exclude", "other", to="part.onnx")
    assert names(converted) == ["scale", "zero", "w", "y"]
    assert_same_outputs(source, tmp_path / "part.onnx", runs=1)


def test_what_other_nodes_use_stays(tmp_path):
    nodes = [dq(), node("Cast", "x", "w", to=TensorProto.FLOAT), node("Neg", "scale", "v")]
    proto = model(nodes, outputs=["y", "w", value("v", shape=[])], initializers=TENSORS)
    source = save(proto, tmp_path / "in.onnx")
    converted, _ = convert(source)
    assert names(converted) == ["x", "scale", "y"]
    assert_same_outputs(source, tmp_path / "out.onnx", runs=1)


def test_quantized_constant_that_is_a_graph_output_stays(tmp_path):
    source = save(model([dq()], outputs=["y", value("x", "int8")], initializers=TENSORS),
                  tmp_path / "in.onnx")
    converted, _ = convert(source)
    assert names(converted) == ["x", "y"]
    assert_same_outputs(source, tmp_path / "out.onnx", runs=1)


def test_what_was_unused_before_stays(tmp_path):
    proto = model([dq(), constant("lonely", X)], initializers=[*TENSORS, ZERO.tensor("unused")])
    converted, _ = convert(save(proto, tmp_path / "in.onnx"))
    assert (names(converted), op_types(converted)) == (["unused", "y"], ["Constant"])


def test_tensor_dequantized_twice_becomes_two_constants(tmp_path):
    nodes = [dq(), dq("x other", "z", "second")]
    other = floats([0.5, -3])
    nodes[1].attribute.append(helper.make_attribute("axis", 0))
    proto = model(nodes, outputs=["y", "z"], initializers=[*TENSORS, other.tensor("other")])
    converted, _ = convert(save(proto, tmp_path / "in.onnx"))
    assert_same(initializer(converted, "y"), Y)
    assert_same(initializer(converted, "z"), dequantized(X, other, axis=0))


def test_constant_computed_outside_is_seen_in_a_body(tmp_path):
    """The body reads y by its name alone: it must go on meaning the same."""
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    both = {b: helper.make_graph([node("Add", "y in", b)], b, [], [value(b)])
            for b in ("then", "else")}
    choice = node("If", "flag", "out", then_branch=both["then"], else_branch=both["else"])
    source = save(model([dq(), choice], [flag, "in"], ["out"], TENSORS), tmp_path / "in.onnx")
    converted, _ = convert(source)
    assert (names(converted), op_types(converted)) == (["y"], ["If"])
    assert_same_outputs(source, tmp_path / "out.onnx", runs=5)


def test_what_a_body_uses_stays_outside(tmp_path):
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    both = {b: helper.make_graph([node("Cast", "x", b, to=TensorProto.FLOAT)], b, [], [value(b)])
            for b in ("then", "else")}
    choice = node("If", "flag", "out", then_branch=both["then"], else_branch=both["else"])
    source = save(model([dq(), choice], [flag], ["y", "out"], TENSORS), tmp_path / "in.onnx")
    converted, _ = convert(source)
    assert names(converted) == ["x", "y"]
    assert_same_outputs(source, tmp_path / "out.onnx", runs=5)


def annotation(tensor, **parameters):
    a = onnx.TensorAnnotation(tensor_name=tensor)
    for key, name in parameters.items():
        a.quant_parameter_tensor_names.add(key=key, value=name)
    return a


def test_quantization_annotation_of_what_is_gone_goes(tmp_path):
    proto = model([dq()], initializers=TENSORS)
    proto.graph.quantization_annotation.append(annotation("x", SCALE_TENSOR="scale"))
    converted, _ = convert(save(proto, tmp_path / "in.onnx"))
    assert (names(converted), list(converted.graph.quantization_annotation)) == (["y"], [])


def test_quantization_annotation_of_what_stays_keeps_what_it_names(tmp_path):
    proto = model([dq(), node("Abs", "in", "out")], ["in"], ["y", "out"], TENSORS)
    kept = annotation("out", SCALE_TENSOR="scale", ZERO_POINT_TENSOR="zero")
    proto.graph.quantization_annotation.append(kept)
    converted, _ = convert(save(proto, tmp_path / "in.onnx"), verified=False)
    assert names(converted) == ["scale", "zero", "y"]
    assert list(converted.graph.quantization_annotation) == [kept]


def test_value_info_of_what_is_gone_goes(tmp_path):
    nodes = [node("Identity", "x", "xx"), dq("xx scale zero"), node("Neg", "y", "out")]
    proto = model(nodes, outputs=["out"], initializers=TENSORS,
                  value_info=[value("xx", "int8"), value("y")])
    converted, _ = convert(save(proto, tmp_path / "in.onnx"))
    assert [v.name for v in converted.graph.value_info] == ["y"]


def test_model_with_training_information_keeps_its_initializers(tmp_path):
    proto = model([dq()], initializers=TENSORS)
    algorithm = helper.make_graph([node("Identity", "x", "next")], "algorithm", [],
                                  [value("next", "int8")])
    proto.training_info.add(algorithm=algorithm)
    proto.training_info[0].update_binding.add(key="x", value="next")
    source = save(proto, tmp_path / "in.onnx")
    converted, _ = convert(source, verified=False)
    assert names(converted) == ["x", "scale", "zero", "y"]
    assert list(converted.training_info) == list(proto.training_info)


# Nodes that cannot be folded.

def left(tmp_path, nodes, initializers=TENSORS, inputs=(), outputs=("y",), **more):
    """The reason why the node dq was left in a model that came out byte for byte as it was. Such
    nodes are wrong, so onnx.checker is not asked."""
    source = save(model(nodes, inputs, outputs, initializers, **more), tmp_path / "in.onnx")
    done = dequant("convert", source, "-o", tmp_path / "out.onnx", "--json")
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()
    return reasons(json.loads(done.stdout))["dq"]


@pytest.mark.parametrize("nodes, reason", [
    ([dq("in scale zero")], "in is an input of the graph"),
    ([dq("x other")], "other is computed by Neg"),
    ([dq("x nowhere")], "nowhere is defined nowhere"),
    ([dq("x")], "1 inputs and 1 outputs, where 2 or 3 and 1 are allowed"),
    ([dq("x scale zero zero")], "4 inputs and 1 outputs, where 2 or 3 and 1 are allowed"),
    ([dq("- scale")], "2 inputs and 1 outputs, where 2 or 3 and 1 are allowed"),
    ([dq("text scale")], "text has data type 8, which dequant does not read"),
])
def test_node_without_constants_is_left_with_the_reason(nodes, reason, tmp_path):
    text = helper.make_tensor("text", TensorProto.STRING, [2], ["a", "b"])
    nodes = [node("Neg", "scale", "other"), *nodes]
    assert left(tmp_path, nodes, [*TENSORS, text], [value("in", "int8")]) == reason


@pytest.mark.parametrize("inputs, attributes, opset, named", [
    ("x vector", {"axis": 7}, 21, "axis"),
    ("x scale", {"axis": 0}, 12, "axis"),
    ("x vector", {}, 12, "x_scale"),
    ("x scale", {"block_size": -1}, 21, "block_size"),
    ("x scale", {"axis": 0.5}, 21, "axis"),
    ("x scale", {"surprise": 1}, 21, "surprise"),
    ("x scale", {"output_dtype": 2}, 23, "output_dtype"),
    ("x scale", {"output_dtype": 10}, 21, "output_dtype"),
    ("x vector", {"axis": 1}, 21, "x_scale"),
    ("x scale vector", {}, 21, "x_zero_point"),
    ("float scale", {}, 21, "x"),
    ("float8 scale float8zero", {}, 21, "zero_point: element 0"),
    ("x scale", {}, 9, "opset"),
    ("x scale", {}, 99, "opset"),
])
def test_node_that_breaks_its_specification_is_left_with_the_reason(inputs, attributes, opset,
                                                                    named, tmp_path):
    tensors = [*TENSORS, floats([1, 2]).tensor("vector"), Y.tensor("float"),
               codes("float8e4m3fn", [1, 2]).tensor("float8"),
               codes("float8e4m3fn", 1).tensor("float8zero")]
    reason = left(tmp_path, [dq(inputs, **attributes)], tensors, opset=opset)
    assert named in reason


def test_sparse_initializer_is_left(tmp_path):
    values = codes("int8", [7]).tensor("x")
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [2])
    sparse = helper.make_sparse_tensor(values, indices, [6])
    reason = left(tmp_path, [dq("x scale zero")], TENSORS[1:], sparse_initializer=[sparse])
    assert reason == "x is a sparse initializer"


@pytest.mark.parametrize("value_, reason", [
    ({"value_int": 2**31},
     "x has int64 codes: 2147483648 is no number of int32, where its result is undefined"),
    ({"value_string": "3"},
     "x comes from a Constant node with value_string, which dequant does not read")])
def test_constant_of_another_kind_is_left(value_, reason, tmp_path):
    assert left(tmp_path, [node("Constant", "", "x", **value_), dq()], TENSORS[1:]) == reason


def test_same_name_in_another_domain_is_another_operator(tmp_path):
    proto = model([dq(domain="custom")], initializers=TENSORS, domains=["custom"])
    source = save(proto, tmp_path / "in.onnx")
    _, report = convert(source)
    assert report["folded"] == []
    assert [(left["domain"], left["node"]) for left in report["left"]] == [("custom", "dq")]
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()
