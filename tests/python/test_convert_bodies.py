"""`dequant convert` in the bodies of If, Loop and Scan and in functions of the model."""

import numpy as np
import onnx
import pytest
from onnx import helper, inliner, numpy_helper

from arithmetic import assert_same, codes, codes_of, dequantized, floats, random_codes
from support import (SCALE, TENSORS, X, Y, ZERO, assert_same_outputs, constant, convert, dequant,
                     dq, model, names, node, reasons, save, session, value)

FLAG = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])


def body(nodes, inputs=(), outputs=("y",), initializers=()):
    infos = [[value(v) if isinstance(v, str) else v for v in values]
             for values in (inputs, outputs)]
    return helper.make_graph(nodes, "body", *infos, initializers)


def branches(name, nodes, initializers=()):
    """An If whose branches compute the same, so that both are tried."""
    both = {b: body([*nodes, node("Mul", "y y", b)], outputs=[b], initializers=initializers)
            for b in ("then", "else")}
    return node("If", "flag", "out", name, then_branch=both["then"], else_branch=both["else"])


def if_with_outer_constants():
    return model([branches("if", [dq()])], [FLAG], ["out"], TENSORS), 2


def if_with_own_constants():
    return model([branches("if", [constant("zero", ZERO), dq()], TENSORS[:2])], [FLAG], ["out"]), 2


def if_within_if():
    inner = branches("inner", [dq()])
    outer = {b: body([inner, node("Neg", "out", b)], outputs=[b], initializers=TENSORS[:1])
             for b in ("then", "else")}
    n = node("If", "flag", "result", then_branch=outer["then"], else_branch=outer["else"])
    return model([n], [FLAG], ["result"], TENSORS[1:]), 4


def loop_with_outer_constants():
    inside = [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
              helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []), "sum"]
    outside = [helper.make_tensor_value_info("d", onnx.TensorProto.BOOL, []), "next"]
    loop = body([node("Identity", "c", "d"), dq(), node("Add", "sum y", "next")], inside, outside,
                TENSORS[2:])
    trips = numpy_helper.from_array(np.array(3), "trips")
    return model([node("Loop", "trips - start", "out", body=loop)], ["start"], ["out"],
                 [trips, *TENSORS[:2]]), 1


def scan_with_own_constants():
    inside, outside = [value("row", shape=[3])], [value("sum")]
    scan = body([dq(), node("Add", "row y", "sum")], inside, outside, TENSORS)
    return model([node("Scan", "rows", "out", num_scan_inputs=1, body=scan)],
                 [value("rows", shape=[4, 3])],
                 [value("out", shape=[4, 2, 3])]), 1


@pytest.mark.parametrize("make", [if_with_outer_constants, if_with_own_constants, if_within_if,
                                  loop_with_outer_constants, scan_with_own_constants])
def test_node_in_a_body_becomes_an_initializer_of_the_body(make, tmp_path):
    proto, count = make()
    source = save(proto, tmp_path / "in.onnx")
    converted, report = convert(source)
    assert (report["totals"]["folded"], report["left"]) == (count, [])
    assert b"DequantizeLinear" not in converted.SerializeToString()
    assert not {"x", "scale", "zero"} & set(names(converted))
    assert_same_outputs(source, tmp_path / "out.onnx", runs=5)


def test_initializers_of_bodies_may_be_external_data(tmp_path):
    x = random_codes(np.random.default_rng(1), "int8", [64, 48])
    bodies = {b: body([dq("x scale", "w", f"dq_{b}"), node("MatMul", "in w", b)],
                      outputs=[value(b, shape=[2, 48])], initializers=[x.tensor("x")])
              for b in ("then", "else")}
    choice = node("If", "flag", "out", then_branch=bodies["then"], else_branch=bodies["else"])
    source = save(model([choice], [FLAG, value("in", shape=[2, 64])], [value("out", shape=[2, 48])],
                        [SCALE.tensor("scale")]), tmp_path / "in.onnx")
    _, report = convert(source, "--external-data")
    assert report["totals"]["data_bytes"] == 2 * 64 * 48 * 4
    assert_same_outputs(source, tmp_path / "out.onnx", runs=5)
    convert(tmp_path / "out.onnx", to="again.onnx")  # where the data of bodies is copied
    assert_same_outputs(source, tmp_path / "again.onnx", runs=5)


def test_input_of_a_body_is_not_constant(tmp_path):
    scan = body([dq(), node("Add", "y y", "sum")], [value("x", "int8", [3])],
                [value("sum", shape=[3])])
    n = node("Scan", "rows", "out", num_scan_inputs=1, body=scan)
    source = save(model([n], [value("rows", "int8")], ["out"], TENSORS[1:]), tmp_path / "in.onnx")
    _, report = convert(source)
    assert reasons(report) == {"dq": "x is an input of its subgraph"}
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()


def test_constant_of_a_body_hides_the_one_outside(tmp_path):
    """Names of the outer graph may be used again within bodies that do not see them: here
    siblings."""
    other = codes("int8", [[9, 8, 7], [6, 5, 4]])
    then = body([constant("x", X), dq(outputs="then", name="a")], outputs=["then"])
    otherwise = body([constant("x", other), dq(outputs="else", name="b")], outputs=["else"])
    n = node("If", "flag", "out", then_branch=then, else_branch=otherwise)
    source = save(model([n], [FLAG], ["out"], TENSORS[1:]), tmp_path / "in.onnx")
    converted, _ = convert(source)
    folded = {a.g.initializer[0].name: a.g.initializer[0]
              for a in converted.graph.node[0].attribute}
    assert_same(codes_of(numpy_helper.to_array(folded["then"])), Y)
    assert_same(codes_of(numpy_helper.to_array(folded["else"])), dequantized(other, SCALE, ZERO))
    assert_same_outputs(source, tmp_path / "out.onnx", runs=5)


@pytest.mark.parametrize("name", ["x", "scale"])
def test_a_name_of_two_nested_graphs_was_taken_for_the_inner_one(name, tmp_path):
    """ONNX Runtime reads the outer one here."""
    other = {"x": codes("int8", [[9, 8, 7], [6, 5, 4]]).tensor("x"),
             "scale": numpy_helper.from_array(np.float32(3), "scale")}[name]
    then = body([dq(outputs="then", name="a")], outputs=["then"], initializers=[other])
    otherwise = body([dq(outputs="else", name="b")], outputs=["else"])
    n = node("If", "flag", "out", then_branch=then, else_branch=otherwise)
    source = save(model([n], [FLAG], ["out"], TENSORS), tmp_path / "in.onnx")
    _, report = convert(source)
    assert reasons(report) == {
        "a": f"{name} is also the name of a value of a graph around this one",
        "b": f"{name} is also the name of a value of a graph within this one"}
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()


# Functions.

def function(nodes, inputs, outputs=("y",), attributes=()):
    return helper.make_function("test.domain", "Weights", inputs, outputs, nodes,
                                [helper.make_opsetid("", 21)], attributes)


def calling(body_, inputs="", **attributes):
    call = node("Weights", inputs, "w", "call", "test.domain", **attributes)
    return model([call, node("Add", "in w", "out")], ["in"], ["out"],
                 TENSORS if inputs else [], functions=[body_], domains=["test.domain"])


def test_node_in_a_function_becomes_a_constant_node(tmp_path):
    nodes = [constant("x", X), constant("scale", SCALE), constant("zero", ZERO), dq()]
    source = save(calling(function(nodes, [])), tmp_path / "in.onnx")
    converted, _ = convert(source)
    [left] = converted.functions[0].node
    assert (left.op_type, left.name, list(left.output)) == ("Constant", "dq", ["y"])
    assert_same(codes_of(numpy_helper.to_array(left.attribute[0].t)), Y)
    assert_same_outputs(source, tmp_path / "out.onnx", runs=5)


def test_function_has_operator_sets_of_its_own(tmp_path):
    """The model's own does not know int2."""
    x = codes("int2", [[-2, -1, 0], [1, 0, 1]])
    body_ = function([constant("x", x), constant("scale", SCALE), dq("x scale")], [])
    body_.opset_import[0].version = 25
    proto = calling(body_)
    proto.ir_version = 13
    (tmp_path / "in.onnx").write_bytes(proto.SerializeToString())
    dequant("convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx")
    [left] = onnx.load(tmp_path / "out.onnx").functions[0].node
    assert_same(codes_of(numpy_helper.to_array(left.attribute[0].t)), dequantized(x, SCALE))


def test_body_in_a_function_gets_an_initializer(tmp_path):
    flag = node("Constant", "", "flag", value=numpy_helper.from_array(np.array(True)))
    nodes = [flag, constant("x", X), constant("scale", SCALE), constant("zero", ZERO),
             branches("if", [dq()])]
    source = save(calling(function(nodes, [], ["out"])), tmp_path / "in.onnx")
    converted, report = convert(source)
    assert report["totals"]["folded"] == 2
    assert [n.op_type for n in converted.functions[0].node] == ["Constant", "If"]
    assert_same_outputs(source, tmp_path / "out.onnx", runs=5)


def test_input_of_a_function_is_not_constant(tmp_path):
    source = save(calling(function([dq()], ["x", "scale", "zero"]), "x scale zero"),
                  tmp_path / "in.onnx")
    _, report = convert(source)
    assert reasons(report) == {
        "dq": "x is an input of its function, which each call may give another value "
              "(onnx.inliner.inline_local_functions gives each call nodes of its own)"}
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("options", [[], ["--strip-qdq"]])
def test_functions_that_the_reason_says_to_inline_are_folded_for_each_call(options, tmp_path):
    """What the reason of the test above says helps."""
    scales = [floats(0.3), floats(0.25)]
    calls = [node("Weights", f"x scale{i} zero", f"out{i}", f"call{i}", "test.domain")
             for i in (0, 1)]
    body_ = function([dq()], ["x", "scale", "zero"])
    proto = model(calls, [], [value("out0"), value("out1")],
                  [X.tensor("x"), ZERO.tensor("zero"),
                   *(s.tensor(f"scale{i}") for i, s in enumerate(scales))],
                  functions=[body_], domains=["test.domain"])
    _, report = convert(save(proto, tmp_path / "in.onnx"), *options)
    assert len(report["left"]) == 1
    inlined = inliner.inline_local_functions(proto)
    converted, report = convert(save(inlined, tmp_path / "inlined.onnx"), *options, "--force")
    assert report["left"] == []
    for i, s in enumerate(scales):
        [made] = session(tmp_path / "out.onnx").run([f"out{i}"], {})
        assert_same(codes_of(made), dequantized(X, s, ZERO))


def test_attribute_of_a_function_is_not_constant(tmp_path):
    taken = node("Constant", "", "x")
    taken.attribute.append(onnx.AttributeProto(name="value", type=onnx.AttributeProto.TENSOR,
                                               ref_attr_name="weights"))
    nodes = [taken, constant("scale", SCALE), dq("x scale")]
    source = save(calling(function(nodes, [], attributes=["weights"]), weights=X.tensor("x")),
                  tmp_path / "in.onnx")
    _, report = convert(source)
    assert reasons(report) == {
        "dq": "x comes from a Constant node that takes a function's attribute"}
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()
