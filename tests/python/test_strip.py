"""`dequant convert --strip-qdq` takes pairs of QuantizeLinear and DequantizeLinear off activations,
and leaves what would change more than the rounding. What becomes of their ranges:
test_strip_clip.py."""

import pytest
from onnx import TensorProto, helper

from arithmetic import codes, floats
from support import (constant, convert, dequant, dq, model, names, node, op_types, q, reasons, save,
                     session, value)

SCALE, OTHER = floats(0.5), floats(0.25)
ZERO, LOWEST = codes("uint8", 128), codes("uint8", 0)
PARAMETERS = [SCALE.tensor("s"), OTHER.tensor("s2"), ZERO.tensor("z"), LOWEST.tensor("low")]


def strip(folder, nodes, *options, inputs=("in",), outputs=("out",), initializers=PARAMETERS,
          verified=True, **more):
    source = save(model(nodes, inputs, outputs, initializers, **more), folder / "in.onnx")
    return convert(source, "--strip-qdq", "--clip", "never", *options, verified=verified)


def run(path, array):
    return session(path).run(None, {"in": array})[0]


def around(*middle, zero="z"):
    """in -> Neg -> a -> pair -> b -> the middle -> out"""
    return [node("Neg", "in", "a"), q(f"a s {zero}", "aq"), dq(f"aq s {zero}", "b"), *middle]


def shape_of(proto):
    """The nodes as text."""
    return [f"{n.op_type} {' '.join(n.input)} -> {' '.join(n.output)}" for n in proto.graph.node]


def test_pair_goes_and_its_readers_read_the_original(tmp_path):
    stripped, report = strip(tmp_path, around(node("Neg", "b", "out")))
    assert shape_of(stripped) == ["Neg in -> a", "Neg a -> out"]
    assert names(stripped) == ["s2", "low"]
    assert report["stripped"] == [
        {"node": "dq", "op_type": "DequantizeLinear", "replaced_by": "nothing"},
        {"node": "q", "op_type": "QuantizeLinear", "replaced_by": "nothing"}]
    assert report["left"] == []


def test_pair_read_by_several_goes(tmp_path):
    stripped, _ = strip(tmp_path, around(node("Neg", "b", "c"), node("Add", "b c", "out")))
    assert shape_of(stripped) == ["Neg in -> a", "Neg a -> c", "Add a c -> out"]


def test_quantizer_read_by_several_goes(tmp_path):
    nodes = around(dq("aq s z", "c", "dq2"), node("Add", "b c", "out"))
    stripped, _ = strip(tmp_path, nodes)
    assert shape_of(stripped) == ["Neg in -> a", "Add a a -> out"]


def test_pair_that_is_a_graph_output_becomes_identity(tmp_path):
    stripped, report = strip(tmp_path, around(node("Neg", "b", "out")), outputs=["b", "out"])
    assert shape_of(stripped) == ["Neg in -> a", "Identity a -> b", "Neg b -> out"]
    assert report["stripped"][0]["replaced_by"] == "Identity"


def test_pair_read_in_a_body_goes(tmp_path):
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    both = {b: helper.make_graph([node("Neg", "b", b)], b, [], [value(b)])
            for b in ("then", "else")}
    choice = node("If", "flag", "out", then_branch=both["then"], else_branch=both["else"])
    stripped, _ = strip(tmp_path, around(choice), inputs=["in", flag])
    assert shape_of(stripped) == ["Neg in -> a", "If flag -> out"]
    assert [a.g.node[0].input[0] for a in stripped.graph.node[1].attribute] == ["a", "a"]


def test_pair_across_graphs_goes(tmp_path):
    """The QuantizeLinear stands outside, the DequantizeLinear in the bodies."""
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    both = {b: helper.make_graph([dq("aq s z", "b", f"dq_{b}"), node("Neg", "b", b)], b, [],
                                 [value(b)])
            for b in ("then", "else")}
    choice = node("If", "flag", "out", then_branch=both["then"], else_branch=both["else"])
    nodes = [node("Neg", "in", "a"), q("a s z", "aq"), choice]
    stripped, _ = strip(tmp_path, nodes, inputs=["in", flag])
    assert shape_of(stripped) == ["Neg in -> a", "If flag -> out"]
    assert [a.g.node[0].input[0] for a in stripped.graph.node[1].attribute] == ["a", "a"]


def test_value_info_of_quantized_values_goes(tmp_path):
    stripped, _ = strip(tmp_path, around(node("Neg", "b", "out")),
                        value_info=[value("a"), value("aq", "uint8"), value("b")])
    assert list(stripped.graph.value_info) == [value("a")]


def test_pair_in_a_function_goes(tmp_path):
    constants = [constant("s", SCALE), constant("z", ZERO)]
    body = helper.make_function("local", "Call", ["in"], ["out"],
                                [*constants, *around(node("Neg", "b", "out"))],
                                [helper.make_opsetid("", 21)])
    stripped, _ = strip(tmp_path, [node("Call", "in", "out", domain="local")], functions=[body],
                        domains=["local"], initializers=[])
    assert [n.op_type for n in stripped.functions[0].node] == ["Neg", "Neg"]


@pytest.mark.parametrize("between", [
    [node("Identity", "aq", "i")],
    [node("Cast", "aq", "i", to=TensorProto.UINT8)],
    [node("Cast", "aq", "j", to=TensorProto.UINT8), node("Identity", "j", "i")]])
def test_pair_around_nodes_that_change_nothing_goes(between, tmp_path):
    nodes = [node("Neg", "in", "a"), q("a s z", "aq"), *between, dq("i s z", "b"),
             node("Neg", "b", "out")]
    stripped, _ = strip(tmp_path, nodes)
    assert shape_of(stripped) == ["Neg in -> a", "Neg a -> out"]


@pytest.mark.parametrize("opset, scale", [(19, "float16"), (21, "bfloat16"), (23, "float16")])
def test_pair_of_16_bit_floats_goes(opset, scale, tmp_path):
    tensors = [floats(0.5, scale).tensor("s"), ZERO.tensor("z")]
    stripped, _ = strip(tmp_path, around(node("Neg", "b", "out")), inputs=[value("in", scale)],
                        outputs=[value("out", scale)], initializers=tensors, opset=opset,
                        ir_version=11)
    assert shape_of(stripped) == ["Neg in -> a", "Neg a -> out"]


@pytest.mark.parametrize("q_inputs, dq_inputs", [
    ("a s z", "aq t u"),          # other tensors of the same values
    ("a s z", "aq t_as_attribute u"),
    ("a s_as_attribute z", "aq t_as_attribute u"),
    ("a s z", "aq s_of_one z"),   # [] and [1] both mean per tensor
    ("a s low", "aq s"),          # no zero point is a zero point of zero
    ("a s", "aq s low"),
    ("a s_again z", "aq s z")])   # through Identity
def test_pair_of_equal_parameters_goes(q_inputs, dq_inputs, tmp_path):
    nodes = [node("Constant", "", "s_as_attribute", value_float=0.5),
             node("Constant", "", "t_as_attribute", value_float=0.5),
             node("Identity", "s", "s_again"),
             node("Relu", "in", "a"), q(q_inputs, "aq"), dq(dq_inputs, "b"),
             node("Neg", "b", "out")]
    more = [floats(0.5).tensor("t"), floats([0.5]).tensor("s_of_one"), ZERO.tensor("u")]
    # Of the nodes that nothing reads, one reads s in the float model, too.
    stripped, report = strip(tmp_path, nodes, initializers=[*PARAMETERS, *more], verified=False)
    assert shape_of(stripped)[-2:] == ["Relu in -> a", "Neg a -> out"]
    assert report["left"] == []


# What stays.

@pytest.mark.parametrize("dq_inputs", ["aq s2 z", "aq s low", "aq s2 low", "aq s"])
def test_pair_of_different_parameters_stays_with_the_reason(dq_inputs, tmp_path):
    nodes = [node("Neg", "in", "a"), q("a s z", "aq"), dq(dq_inputs, "b"), node("Neg", "b", "out")]
    _, report = strip(tmp_path, nodes)
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()
    assert reasons(report) == {
        "dq": "its scale or zero point is not that of the QuantizeLinear before it",
        "q": "dq, which dequantizes it, stays: its scale or zero point is not that of the "
             "QuantizeLinear before it"}
    assert report["totals"]["left"] == len(report["left"]) == 2


SEVERAL = [floats([0.5, 0.25, 1]).tensor("scales"), floats([[0.5], [0.25]]).tensor("blocks")]


def strip_axes(folder, q_attributes, d_attributes, scale="scales", shape=(2, 3), **more):
    """Behind a Relu, whose pair of several scales goes without a Clip."""
    nodes = [node("Relu", "in", "a"), q(f"a {scale}", "aq", **q_attributes),
             dq(f"aq {scale}", "b", **d_attributes), node("Neg", "b", "out")]
    return strip(folder, nodes, inputs=[value("in", shape=shape)], outputs=[
        value("out", shape=shape)], initializers=SEVERAL, **more)


@pytest.mark.parametrize("told", [{"value_info": [value("a")]}, {"value_info": [value("b")]},
                                  {"value_info": [value("aq", "uint8", ["n", None])]}])
@pytest.mark.parametrize("q_axis, d_axis", [(-1, 1), (1, -1), (None, -1), (-1, None)])
def test_axis_counted_from_the_back_was_taken_for_another(q_axis, d_axis, told, tmp_path):
    attributes = [{} if axis is None else {"axis": axis} for axis in (q_axis, d_axis)]
    stripped, report = strip_axes(tmp_path, *attributes, **told)
    assert (op_types(stripped), report["left"]) == (["Relu", "Neg"], [])


@pytest.mark.parametrize("q_attributes, d_attributes, more, reason", [
    ({"axis": 0}, {"axis": 1}, {}, "its axis is 1, that of the QuantizeLinear before it is 0"),
    ({"axis": -2}, {"axis": 1}, {"value_info": [value("a", shape=(3, 3))]},
     "its axis is 1, that of the QuantizeLinear before it is -2"),
    ({"axis": -1}, {"axis": 1}, {}, "its axis is 1, that of the QuantizeLinear before it is -1, "
     "and the model does not tell the number of dimensions"),
    ({"axis": 1, "block_size": 2}, {"axis": 1, "block_size": 4}, {"scale": "blocks"},
     "its block_size is 4, that of the QuantizeLinear before it is 2")])
def test_reason_named_scale_or_zero_point_where_others_differ(q_attributes, d_attributes, more,
                                                               reason, tmp_path):
    shape = (2, 2) if "scale" in more else (3, 3)
    _, report = strip_axes(tmp_path, q_attributes, d_attributes, shape=shape, **more)
    assert reasons(report)["dq"] == reason
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()


def test_parameters_that_can_be_overridden_are_not_known_to_be_equal(tmp_path):
    nodes = [node("Neg", "in", "a"), q("a s z", "aq"), dq("aq t z", "b"), node("Neg", "b", "out")]
    more = dict(inputs=["in", value("t", shape=[])], initializers=[*PARAMETERS, SCALE.tensor("t")])
    stripped, _ = strip(tmp_path, nodes, **more)
    assert op_types(stripped) == ["Neg", "QuantizeLinear", "DequantizeLinear", "Neg"]
    stripped, _ = strip(tmp_path, nodes, "--assume-const", "--force", **more)
    assert op_types(stripped) == ["Neg", "Neg"]


def test_pair_that_changes_the_type_stays_with_the_reason(tmp_path):
    nodes = [node("Neg", "in", "a"), q("a s z", "aq"),
             dq("aq s z", "b", output_dtype=TensorProto.FLOAT16),
             node("Neg", "b", "out")]
    _, report = strip(tmp_path, nodes, outputs=[value("out", "float16")], opset=23, ir_version=11,
                      value_info=[value("a")])
    assert reasons(report)["dq"] == "the pair turns float32 into float16"
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()


def test_values_used_quantized_stay(tmp_path):
    nodes = [node("Neg", "in", "a"), q("a s z", "aq"), node("BitwiseNot", "aq", "t"),
             dq("t s z", "b"),
             node("Neg", "b", "out")]
    _, report = strip(tmp_path, nodes)
    assert reasons(report) == {"dq": "t is computed by BitwiseNot",
                               "q": "its output is used as it is, quantized"}
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()


@pytest.mark.parametrize("attributes", [{}, {"output_dtype": TensorProto.FLOAT}])
def test_pair_with_scales_that_are_no_floats_is_left(attributes, tmp_path):
    """Such nodes are wrong, so onnx.checker is not asked."""
    nodes = [node("Neg", "in", "a"), q("a low low", "aq"), dq("aq low low", "b", **attributes),
             node("Neg", "b", "out")]
    source = save(model(nodes, ["in"], ["out"], PARAMETERS, opset=23), tmp_path / "in.onnx")
    dequant("convert", source, "-o", tmp_path / "out.onnx", "--strip-qdq")


def test_nodes_not_chosen_stay(tmp_path):
    _, report = strip(tmp_path, around(node("Neg", "b", "out")), "--exclude", "dq")
    assert "not selected" in reasons(report)["dq"]
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()


# Inputs and outputs of the model.

def test_quantized_input_becomes_float(tmp_path):
    stripped, _ = strip(tmp_path, [dq("in s z", "b"), node("Neg", "b", "out")],
                        inputs=[value("in", "uint8")])
    assert shape_of(stripped) == ["Neg in -> out"]
    assert stripped.graph.input[0] == value("in")


def test_pair_behind_a_quantized_input_goes_too(tmp_path):
    nodes = [dq("in s z", "a"), q("a s2 z", "aq"), dq("aq s2 z", "b", "dq2"),
             node("Neg", "b", "out")]
    stripped, _ = strip(tmp_path, nodes, inputs=[value("in", "uint8")])
    assert shape_of(stripped) == ["Neg in -> out"]


def test_quantized_output_becomes_float(tmp_path):
    stripped, _ = strip(tmp_path, [node("Neg", "in", "a"), q("a s z", "out")],
                        outputs=[value("out", "uint8")])
    assert shape_of(stripped) == ["Neg in -> a", "Identity a -> out"]
    assert stripped.graph.output[0] == value("out")


def test_quantized_output_of_a_16_bit_model_becomes_what_it_was_before(tmp_path):
    tensors = [floats(0.5, "float16").tensor("s"), ZERO.tensor("z")]
    stripped, _ = strip(tmp_path, [node("Neg", "in", "a"), q("a s z", "out")],
                        inputs=[value("in", "float16")],
                        outputs=[value("out", "uint8")], initializers=tensors)
    assert stripped.graph.output[0] == value("out", "float16")


@pytest.mark.parametrize("nodes, options", [
    ([dq("in s z", "b"), dq("in s2 z", "c", "dq2"), node("Add", "b c", "out")], []),
    ([dq("in s z", "b"), dq("in s z", "c", "dq2"), node("Add", "b c", "out")],
     ["--exclude", "dq2"]),
    ([dq("in s z", "b"), node("Cast", "in", "c", to=TensorProto.FLOAT), node("Add", "b c", "out")],
     [])])
def test_input_that_others_need_quantized_or_otherwise_stays(nodes, options, tmp_path):
    _, report = strip(tmp_path, nodes, *options, inputs=[value("in", "uint8")])
    assert reasons(report)["dq"] == "the model's input in has users that need it quantized"
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()


def test_input_read_by_equal_nodes_becomes_float(tmp_path):
    nodes = [dq("in s z", "b"), dq("in s z", "c", "dq2"), node("Add", "b c", "out")]
    stripped, _ = strip(tmp_path, nodes, inputs=[value("in", "uint8")])
    assert shape_of(stripped) == ["Add in in -> out"]


def test_changed_inputs_and_outputs_are_told(tmp_path):
    """Their types changed without a word."""
    nodes = [dq("in s z", "b"), node("Neg", "b", "c"), q("c s2 low", "out")]
    stripped, report = strip(tmp_path, nodes, inputs=[value("in", "uint8")],
                             outputs=[value("out", "uint8")])
    assert report["inputs_changed"] == [{"name": "in", "old_type": "uint8", "new_type": "float32",
                                         "scale": 0.5, "zero_point": 128, "axis": None}]
    assert report["outputs_changed"] == [{"name": "out", "old_type": "uint8", "new_type": "float32",
                                          "scale": 0.25, "zero_point": 0, "axis": None}]
    text = dequant("convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "--strip-qdq",
                   "-n", "-f").stdout
    rows = [line.split() for line in text.splitlines() if line.split()[1:3] == ["uint8", "float32"]]
    assert rows == [["in", "uint8", "float32", "0.5", "128"],
                    ["out", "uint8", "float32", "0.25", "0"]]


def test_changed_input_with_a_scale_for_each_slice(tmp_path):
    tensors = [floats([0.5, 0.25]).tensor("s"), codes("int8", [0, 3]).tensor("z")]
    _, report = strip(tmp_path, [dq("in s z", "b", axis=0), node("Neg", "b", "out")],
                      initializers=tensors,
                      inputs=[value("in", "int8")])
    assert report["inputs_changed"] == [{"name": "in", "old_type": "int8", "new_type": "float32",
                                         "scale": [0.5, 0.25], "zero_point": [0, 3], "axis": 0}]


def test_unchanged_inputs_and_outputs_are_not_told(tmp_path):
    _, report = strip(tmp_path, around(node("Neg", "b", "out")))
    assert (report["inputs_changed"], report["outputs_changed"]) == ([], [])


def test_quantizer_whose_dequantizer_is_not_chosen_says_so(tmp_path):
    """"its output is used as it is, quantized": but only a DequantizeLinear reads it."""
    _, report = strip(tmp_path, around(node("Neg", "b", "out")), "--exclude", "dq")
    assert reasons(report)["q"] == \
        "dq, which dequantizes it, stays: not selected by include and exclude"
    between = [node("Neg", "in", "a"), q("a s z", "aq"), node("Identity", "aq", "i"),
               dq("i s2 z", "b"),
               node("Neg", "b", "out")]
    _, report = strip(tmp_path, between, "--force")
    assert reasons(report)["q"].startswith("dq, which dequantizes it, stays: its scale")
