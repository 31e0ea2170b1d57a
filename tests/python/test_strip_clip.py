"""`dequant convert --strip-qdq` puts a Clip where a pair was also a Relu: quantizers drop a Relu
before a QuantizeLinear whose zero point is its lowest code, because nothing negative passes there
anyway."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from arithmetic import codes, floats
from support import (constant, convert, dq, model, node, op_types, q, reasons, save, session,
                     value)

SCALE = floats(0.5)


def strip(folder, before, *, low=codes("uint8", 0), scale=SCALE, inputs=("in",), opset=21,
          element="float32",
          initializers=(), axis=None, zero=True):
    """in -> the nodes `before` -> a -> pair -> Identity -> out, and what is left of it."""
    attributes = {} if axis is None else {"axis": axis}
    names = "s low" if zero else "s"
    nodes = [*before, q(f"a {names}", "aq", **attributes), dq(f"aq {names}", "b", **attributes),
             node("Identity", "b", "out")]
    tensors = [scale.tensor("s"), *([low.tensor("low")] if zero else []), *initializers]
    infos = [value(i, element) if isinstance(i, str) else i for i in inputs]
    proto = model(nodes, infos, [value("out", element)], tensors, opset=opset, ir_version=10)
    return convert(save(proto, folder / "in.onnx"), "--strip-qdq")


NEG = node("Neg", "in", "a")


def limits(proto):
    """The limits of the only Clip, from its inputs or its attributes."""
    [clip] = [n for n in proto.graph.node if n.op_type == "Clip"]
    if clip.attribute:
        return {a.name: a.f for a in clip.attribute}
    constants = {n.output[0]: numpy_helper.to_array(n.attribute[0].t) for n in proto.graph.node
                 if n.op_type == "Constant"}
    low, high = (constants[name] for name in clip.input[1:])
    assert low.shape == high.shape == () and low.dtype == high.dtype
    return {"min": low, "max": high}


@pytest.mark.parametrize("low, highest", [
    (codes("uint8", 0), 127.5), (codes("int8", -128), 127.5), (codes("uint16", 0), 32767.5),
    (codes("int16", -32768), 32767.5), (codes("uint4", 0), 7.5), (codes("int4", -8), 7.5),
    (codes("uint8", [0]), 127.5)])
def test_clip_goes_from_zero_to_the_highest_value(low, highest, tmp_path):
    stripped, report = strip(tmp_path, [NEG], low=low)
    assert op_types(stripped) == ["Neg", "Constant", "Constant", "Clip", "Identity"]
    assert limits(stripped) == {"min": 0, "max": highest}
    assert report["stripped"][0]["replaced_by"] == f"Clip to [0, {highest}]"


def test_clip_computes_what_the_pair_did_but_for_rounding(tmp_path):
    strip(tmp_path, [NEG], scale=floats(0.01))
    array = np.linspace(-5, 5, 6, dtype="f4").reshape(2, 3)
    [before] = session(tmp_path / "in.onnx").run(None, {"in": array})
    [after] = session(tmp_path / "out.onnx").run(None, {"in": array})
    np.testing.assert_allclose(after, before, atol=0.005)


def test_quantizer_without_a_zero_point_has_a_zero_point_of_zero(tmp_path):
    stripped, _ = strip(tmp_path, [NEG], zero=False)
    assert limits(stripped) == {"min": 0, "max": 127.5}


def test_before_opset_11_limits_are_attributes(tmp_path):
    stripped, _ = strip(tmp_path, [NEG], opset=10)
    assert op_types(stripped) == ["Neg", "Clip", "Identity"]
    assert limits(stripped) == {"min": 0, "max": 127.5}


@pytest.mark.parametrize("element, scale, highest", [
    ("float16", 0.1, np.float32(np.float16(255 * np.float32(np.float16(0.1))))),
    ("bfloat16", 0.5, 127.5)])
def test_clip_has_the_type_of_what_it_clips(element, scale, highest, tmp_path):
    stripped, _ = strip(tmp_path, [NEG], scale=floats(scale, element), element=element)
    limit = limits(stripped)
    assert limit["max"].dtype.name == element
    assert (float(limit["min"]), float(limit["max"])) == (0, highest)


def test_clip_in_a_function(tmp_path):
    constants = [constant("s", SCALE), constant("low", codes("uint8", 0))]
    body = onnx.helper.make_function("local", "Call", ["in"], ["b"], [
        *constants, NEG, q("a s low", "aq"), dq("aq s low", "b")],
                                     [onnx.helper.make_opsetid("", 21)])
    proto = model([node("Call", "in", "out", domain="local")], ["in"], ["out"], functions=[body],
                  domains=["local"])
    stripped, _ = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert [n.op_type for n in stripped.functions[0].node] == ["Neg", "Constant", "Constant",
                                                               "Clip"]
    array = np.array([[1, -1, -300], [0, 3, -4]], "f4")
    [y] = session(tmp_path / "out.onnx").run(None, {"in": array})
    assert y.tolist() == [[0, 1, 127.5], [0, 0, 4]]


def test_other_zero_points_need_no_clip(tmp_path):
    stripped, _ = strip(tmp_path, [NEG], low=codes("uint8", 1))
    assert op_types(stripped) == ["Neg", "Identity"]


@pytest.mark.parametrize("before", [
    [],
    [node("Relu", "in", "a")], [node("Sigmoid", "in", "a")], [node("Abs", "in", "a")],
    [node("Relu", "in", "r"), node("Identity", "r", "a")],
    [node("Relu", "in", "r"), node("Transpose", "r", "t"), node("Transpose", "t", "a")],
    [node("Relu", "in", "r"), node("Abs", "in", "s1"), node("Add", "r s1", "a")]])
def test_value_that_cannot_be_negative_needs_no_clip(before, tmp_path):
    """Nor does an input of the model: nothing was dropped before it."""
    stripped, _ = strip(tmp_path, before or [node("Identity", "in", "a")])
    assert "Clip" not in op_types(stripped)


@pytest.mark.parametrize("before", [
    [node("Relu", "in", "r"), node("Add", "r bias", "a")],
    [node("Relu", "in", "r"), node("Mul", "r bias", "a")],
    [node("Relu", "in", "r"), node("Add", "r in", "a")],
    [node("Relu", "in", "r"), dq("code s", "c", "bias_dq"), node("Add", "r c", "a")],
    [node("Relu", "in", "r"), node("Sub", "r in", "a")]])
def test_arithmetic_with_what_may_be_negative_needs_a_clip(before, tmp_path):
    more = [floats([-1, 2, -3]).tensor("bias"), codes("int8", [-1, 2, -3]).tensor("code")]
    stripped, _ = strip(tmp_path, before, initializers=more)
    assert limits(stripped) == {"min": 0, "max": 127.5}
    array = np.array([[1, -1, 2], [0, 3, -4]], "f4")
    [y] = session(tmp_path / "out.onnx").run(None, {"in": array})
    assert (y >= 0).all()


def test_input_of_a_body_may_be_negative(tmp_path):
    body = onnx.helper.make_graph([q("row s low", "aq"), dq("aq s low", "sum")], "body",
                                  [value("row", shape=[3])], [value("sum", shape=[3])])
    proto = model([NEG, node("Scan", "a", "out", num_scan_inputs=1, body=body)], ["in"], ["out"],
                  [SCALE.tensor("s"), codes("uint8", 0).tensor("low")])
    stripped, _ = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert b"Clip" in stripped.SerializeToString()


def test_pair_that_no_single_clip_can_replace_stays_with_the_reason(tmp_path):
    _, report = strip(tmp_path, [NEG], low=codes("uint8", [0, 5]), scale=floats([0.5, 0.25]),
                      axis=0)
    assert reasons(report)["dq"] == "it may stand for a Relu, and no single Clip can take its place"
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()


def test_pair_of_several_scales_goes_where_nothing_is_cut_off(tmp_path):
    stripped, _ = strip(tmp_path, [NEG], low=codes("uint8", [3, 5]), scale=floats([0.5, 0.25]),
                        axis=0)
    assert op_types(stripped) == ["Neg", "Identity"]


def test_clip_at_a_quantized_output(tmp_path):
    nodes = [NEG, q("a s low", "out")]
    proto = model(nodes, ["in"], [value("out", "uint8")],
                  [SCALE.tensor("s"), codes("uint8", 0).tensor("low")])
    stripped, _ = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert op_types(stripped) == ["Neg", "Constant", "Constant", "Clip"]
    assert stripped.graph.output[0] == value("out")


def test_names_of_limits_are_new(tmp_path):
    """Also to a body that does not see them yet, but would hide them."""
    flag = onnx.helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    both = {b: onnx.helper.make_graph([node("Neg", "b", "b_max"), node("Neg", "b_max", b)], b, [],
                                      [value(b)])
            for b in ("then", "else")}
    nodes = [NEG, node("Identity", "in", "b_min"), q("a s low", "aq"), dq("aq s low", "b"),
             node("If", "flag", "out", then_branch=both["then"], else_branch=both["else"])]
    proto = model(nodes, ["in", flag], ["out", "b_min"],
                  [SCALE.tensor("s"), codes("uint8", 0).tensor("low")])
    stripped, _ = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert [n.output[0] for n in stripped.graph.node
            if n.op_type == "Constant"] == ["b_min_", "b_max_"]
