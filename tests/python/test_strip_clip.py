"""`dequant convert --strip-qdq` puts a Clip where a pair cut off numbers: quantizers drop a Relu or
Clip before a QuantizeLinear whose range does the same."""

import itertools

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from arithmetic import codes, floats
from support import (constant, convert, dequant, dq, model, node, op_types, q, reasons,
                     save, session,
                     value)

SCALE = floats(0.5)


def strip(folder, before, *, low=codes("uint8", 0), scale=SCALE, inputs=("in",), opset=21,
          element="float32",
          initializers=(), axis=None, zero=True, options=()):
    """in -> the nodes `before` -> a -> pair -> Identity -> out, and what is left of it."""
    attributes = {} if axis is None else {"axis": axis}
    names = "s low" if zero else "s"
    nodes = [*before, q(f"a {names}", "aq", **attributes), dq(f"aq {names}", "b", **attributes),
             node("Identity", "b", "out")]
    tensors = [scale.tensor("s"), *([low.tensor("low")] if zero else []), *initializers]
    infos = [value(i, element) if isinstance(i, str) else i for i in inputs]
    proto = model(nodes, infos, [value("out", element)], tensors, opset=opset, ir_version=10)
    return convert(save(proto, folder / "in.onnx"), "--strip-qdq", *options)


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


# Both sides, whatever the zero point.

@pytest.mark.parametrize("zero, scale, low, high", [
    (codes("uint8", 1), 0.5, -0.5, 127), (codes("uint8", 128), 0.5, -64, 63.5),
    (codes("uint8", 255), 0.5, -127.5, 0), (codes("int8", 0), 0.5, -64, 63.5),
    (codes("int8", 0), -0.5, -63.5, 64), (codes("int4", 3), 0.5, -5.5, 2),
    (codes("float8e4m3fn", 0), 0.5, -224, 224)])
def test_clip_keeps_both_sides(zero, scale, low, high, tmp_path):
    """Only a zero point of the lowest code had a Clip."""
    stripped, report = strip(tmp_path, [NEG], low=zero, scale=floats(scale))
    assert limits(stripped) == {"min": low, "max": high}
    assert report["stripped"][0]["replaced_by"].startswith("Clip to [")


def test_value_right_behind_a_graph_input_is_clipped(tmp_path):
    """Inputs were trusted to be in range."""
    nodes = [q("in s low", "aq"), dq("aq s low", "b"), node("Identity", "b", "out")]
    proto = model(nodes, ["in"], ["out"], [SCALE.tensor("s"), codes("uint8", 100).tensor("low")])
    stripped, _ = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert limits(stripped) == {"min": -50, "max": 77.5}


def test_input_and_output_that_become_float_are_clipped(tmp_path):
    nodes = [dq("in s low", "a"), node("Neg", "a", "b"), q("b s low", "out")]
    proto = model(nodes, [value("in", "uint8")], [value("out", "uint8")],
                  [SCALE.tensor("s"), codes("uint8", 100).tensor("low")])
    stripped, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert [o for o in op_types(stripped) if o != "Constant"] == ["Clip", "Neg", "Clip"]
    assert report["left"] == []


def test_nodes_that_read_the_same_codes_share_a_clip(tmp_path):
    nodes = [NEG, q("a s low", "aq"), dq("aq s low", "b"), dq("aq s low", "c", "dq2"),
             node("Add", "b c", "out")]
    proto = model(nodes, ["in"], ["out"], [SCALE.tensor("s"), codes("uint8", 3).tensor("low")])
    stripped, _ = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert op_types(stripped) == ["Neg", "Constant", "Constant", "Clip", "Add"]
    assert list(stripped.graph.node[-1].input) == ["b", "b"]


CALIBRATION = np.random.default_rng(5)


def decibels(truth, other):
    return 10 * np.log10(np.square(truth).sum() / np.square(truth - other).sum())


@pytest.mark.parametrize("low, high", [(-1, 1), (-3, 0), (0, 2), (0.5, 3)])
@pytest.mark.parametrize("kind", ["QUInt8", "QInt8"])
def test_clip_that_the_quantizer_folded_is_kept(low, high, kind, tmp_path):
    """Clip(-1, 1) and Clip(-3, 0) after a Conv were lost: -22 dB and -16 dB against the float
    model."""
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                          quantize_static)
    weight = CALIBRATION.normal(size=[4, 3, 3, 3]).astype("f4")
    nodes = [node("Conv", "in w", "c"), node("Clip", "c lo hi", "k"), node("Conv", "k v", "out")]
    tensors = [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.float32(low), "lo"),
               numpy_helper.from_array(np.float32(high), "hi"),
               numpy_helper.from_array(CALIBRATION.normal(size=[2, 4, 1, 1]).astype("f4"), "v")]
    proto = model(nodes, [value("in", shape=[1, 3, 8, 8])],
                  [value("out", shape=[1, 2, 6, 6])], tensors)
    source = save(proto, tmp_path / "float.onnx")
    images = CALIBRATION.normal(size=[8, 1, 3, 8, 8]).astype("f4")

    class Images(CalibrationDataReader):
        def __init__(self):
            self.left = iter(images)

        def get_next(self):
            image = next(self.left, None)
            return None if image is None else {"in": image}

    types = dict(activation_type=getattr(QuantType, kind), weight_type=QuantType.QInt8)
    quantize_static(source, tmp_path / "in.onnx", Images(), quant_format=QuantFormat.QDQ, **types)
    stripped, report = convert(tmp_path / "in.onnx", "--strip-qdq")
    assert "Clip" not in op_types(onnx.load(tmp_path / "in.onnx"))
    assert report["left"] == []
    truth, quantized, plain = (
        np.concatenate([session(tmp_path / name).run(None, {"in": i})[0] for i in images])
        for name in ("float.onnx", "in.onnx", "out.onnx"))
    assert decibels(truth, plain) > decibels(truth, quantized) - 1


# What needs none.

def clips(proto):
    return op_types(proto).count("Clip")


@pytest.mark.parametrize("before", [
    [node("Relu", "in", "a")],
    [node("Relu", "in", "r"), node("Identity", "r", "a")],
    [node("Relu", "in", "r"), node("MaxPool", "r", "a", kernel_shape=[1])],
    [node("Relu", "in", "r"), node("Transpose", "r", "t"), node("Transpose", "t", "a")],
    [node("Relu", "in", "r"), node("Relu", "in", "s1"), node("Concat", "r s1", "c", axis=0),
     node("Slice", "c one two", "a")],
    [node("Clip", "in one", "a")],
    [node("Sigmoid", "in", "a")], [node("Softmax", "in", "a")],
    [node("Tanh", "in", "t"), node("Abs", "t", "a")],
    [node("Clip", "in one two", "a")],
    [node("Clip", "in one two", "c"), node("Mul", "c c", "a")],
    [node("Sigmoid", "in", "g"), node("Add", "g bias", "a")],
    [node("Sigmoid", "in", "g"), node("Clip", "in one two", "c"), node("Where", "flag g c", "a")]])
def test_value_that_stays_in_range_needs_no_clip(before, tmp_path):
    """Nor does what a Relu leaves open above: the range of its pair is the calibration's."""
    more = [floats(1).tensor("one"), floats(2).tensor("two"), floats([1, 2, 3]).tensor("bias"),
            numpy_helper.from_array(np.ones([2, 3], bool), "flag")]
    if before[-1].op_type == "Slice":
        more[:2] = [numpy_helper.from_array(np.array([i], "i8"), n)
                    for i, n in ((0, "one"), (2, "two"))]
    if before[-1].op_type == "MaxPool":
        before = [node("Unsqueeze", "in zero", "u"), node("Relu", "u", "r"),
                  node("MaxPool", "r", "m", kernel_shape=[1]), node("Squeeze", "m zero", "a")]
        more.append(numpy_helper.from_array(np.array([0], "i8"), "zero"))
    stripped, _ = strip(tmp_path, before, initializers=more)
    assert clips(stripped) == sum(n.op_type == "Clip" for n in before)


@pytest.mark.parametrize("before", [
    [node("Relu", "in", "r"), node("Add", "r bias", "a")],
    [node("Relu", "in", "r"), node("Mul", "r bias", "a")],
    [node("Relu", "in", "r"), node("Add", "r in", "a")],
    [node("Relu", "in", "r"), dq("code s", "c", "bias_dq"), node("Add", "r c", "a")],
    [node("Relu", "in", "r"), node("Sub", "r in", "a")],
    [node("Relu", "in", "r"), node("Relu", "in", "s1"), node("Add", "r s1", "a")],
    [node("Abs", "in", "a")], [node("Exp", "in", "a")], [node("Identity", "in", "a")],
    [node("Tanh", "in", "a")], [node("Neg", "in", "n"), node("Neg", "n", "a")],
    [node("Clip", "in - top", "a")], [node("LeakyRelu", "in", "a")],
    [node("Sigmoid", "in", "g"), node("Mul", "g large", "a")]])
def test_value_that_may_leave_the_range_needs_a_clip(before, tmp_path):
    more = [floats([-1, 2, -3]).tensor("bias"), codes("int8", [-1, 2, -3]).tensor("code"),
            floats(6).tensor("top"), floats(200).tensor("large")]
    stripped, _ = strip(tmp_path, before, initializers=more)
    pair = [n for n in stripped.graph.node if n.op_type == "Clip" and n.output[0] == "b"]
    assert len(pair) == 1
    array = np.array([[1, -1, 2], [0, 3, -400]], "f4")
    [y] = session(tmp_path / "out.onnx").run(None, {"in": array})
    [expected] = session(tmp_path / "in.onnx").run(None, {"in": array})
    np.testing.assert_allclose(y, expected, atol=0.25)


def test_range_of_the_pair_before_needs_no_second_clip(tmp_path):
    nodes = [NEG, q("a s low", "aq"), dq("aq s low", "b"), node("Transpose", "b", "t"),
             q("t s low", "tq", "q2"), dq("tq s low", "u", "dq2"), node("Transpose", "u", "out")]
    proto = model(nodes, ["in"], ["out"], [SCALE.tensor("s"), codes("uint8", 9).tensor("low")])
    stripped, _ = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert [o for o in op_types(stripped) if o != "Constant"] == \
        ["Neg", "Clip", "Transpose", "Transpose"]


def test_narrower_pair_behind_a_clip_needs_its_own(tmp_path):
    more = [floats(-10).tensor("lo"), floats(10).tensor("hi")]
    stripped, _ = strip(tmp_path, [node("Clip", "in lo hi", "a")], low=codes("int8", 0),
                        scale=floats(1 / 128), initializers=more)
    assert clips(stripped) == 2


def test_doubled_sums_are_bounded_in_time(tmp_path):
    """Each value was looked at once for each way to it: 2^64 ways."""
    sums = [node("Add", f"x{i} x{i}", f"x{i + 1}") for i in range(64)]
    stripped, _ = strip(tmp_path, [node("Relu", "in", "x0"), *sums, node("Identity", "x64", "a")])
    assert clips(stripped) == 1


def test_long_chains_stay_off_the_stack(tmp_path):
    chain = [node("Identity" if i % 2 else "Transpose", f"x{i}", f"x{i + 1}")
             for i in range(100000)]
    stripped, \
        _ = strip(tmp_path, [node("Relu", "in", "x0"), *chain, node("Identity", "x100000", "a")])
    assert clips(stripped) == 0


# --clip

def test_always_and_never(tmp_path):
    stripped, _ = strip(tmp_path, [node("Relu", "in", "a")], options=["--clip", "always"])
    assert limits(stripped) == {"min": 0, "max": 127.5}
    for before in ([NEG], [node("Relu", "in", "a")]):
        stripped, _ = strip(tmp_path, before, options=["--clip", "never", "--force"])
        assert clips(stripped) == 0


def test_clip_is_for_strip_alone(tmp_path):
    assert "--strip-qdq" in dequant("convert", tmp_path / "in.onnx", "-o",
                                    tmp_path / "out.onnx", "--clip", "always", code=2).stderr
    assert "sometimes" in dequant("convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx",
                                  "--strip-qdq", "--clip", "sometimes", code=2).stderr


# What is constant without being an initializer.

def test_constant_that_was_computed_stays_quantized(tmp_path):
    """Strip gave it back as it was before quantization."""
    more = [floats([[1.3, 2], [3, 4], [5, 6]]).tensor("w")]
    nodes = [node("Abs", "w", "a"), q("a s low", "aq"), dq("aq s low", "b"),
             node("Add", "b in", "out")]
    proto = model(nodes, [value("in", shape=[3, 2])], [value("out", shape=[3, 2])],
                  [SCALE.tensor("s"), codes("uint8", 0).tensor("low"), *more])
    _, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert reasons(report)["dq"] == "a is computed from constants, and quantized would be others"
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()


@pytest.mark.parametrize("move, left", [
    (node("Transpose", "d", "a"), ["Add"]),  # is evaluated
    (node("Tile", "d times", "a"), ["Tile", "Add"])])
def test_weight_that_was_quantized_before_it_was_moved_loses_the_second_pair(move, left, tmp_path):
    """As ONNX Runtime's quantizer writes a transposed weight."""
    more = [codes("int8", [[1, 2], [3, -4], [5, -128]]).tensor("w"), codes("int8", 0).tensor("z"),
            numpy_helper.from_array(np.array([1, 1]), "times")]
    nodes = [dq("w s z", "d", "dq_w"), move, q("a s z", "aq"), dq("aq s z", "b"),
             node("Add", "b in", "out")]
    shape = [2, 3] if move.op_type == "Transpose" else [3, 2]
    proto = model(nodes, [value("in", shape=shape)], [value("out", shape=shape)],
                  [SCALE.tensor("s"), *more])
    stripped, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert (op_types(stripped), report["left"]) == (left, [])


def test_input_of_a_body_may_be_negative(tmp_path):
    body = onnx.helper.make_graph([q("row s low", "aq"), dq("aq s low", "sum")], "body",
                                  [value("row", shape=[3])], [value("sum", shape=[3])])
    proto = model([NEG, node("Scan", "a", "out", num_scan_inputs=1, body=body)], ["in"], ["out"],
                  [SCALE.tensor("s"), codes("uint8", 0).tensor("low")])
    stripped, _ = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert b"Clip" in stripped.SerializeToString()


SEVERAL = dict(low=codes("uint8", [0, 5]), scale=floats([0.5, 0.25]), axis=0)


def test_pair_that_no_single_clip_can_replace_stays_with_the_reason(tmp_path):
    _, report = strip(tmp_path, [NEG], **SEVERAL)
    assert reasons(report)["dq"] == "each slice has a range of its own, which no single Clip keeps"
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()


@pytest.mark.parametrize("before, options", [
    ([NEG], ["--clip", "never"]), ([node("Relu", "in", "a")], []), ([node("Tanh", "in", "a")], [])])
def test_pair_of_several_scales_goes_where_nothing_is_cut_off(before, options, tmp_path):
    stripped, report = strip(tmp_path, before, **{**SEVERAL, "low": codes("uint8", [3, 5])},
                             options=options)
    assert (clips(stripped), report["left"]) == (0, [])


DEGENERATE = [(np.nan, "NaN"), (np.inf, "infinite"), (-np.inf, "infinite"), (0.0, "zero"),
              (-0.0, "zero")]


@pytest.mark.parametrize("clip", ["needed", "always", "never"])
@pytest.mark.parametrize("scale, word", DEGENERATE)
def test_pair_whose_scale_is_no_scale_stays_and_is_named(scale, word, clip, tmp_path):
    """With --clip never the pair went, with a scale of zero also otherwise: zeros became other
    numbers."""
    _, report = strip(tmp_path, [NEG], scale=floats(scale), options=["--clip", clip])
    reason = f"its scale is {word}, so the pair turns numbers into zeros, infinities or NaN"
    assert reasons(report) == {"dq": reason, "q": f"dq, which dequantizes it, stays: {reason}"}
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()


@pytest.mark.parametrize("scale, word", DEGENERATE)
def test_pair_with_one_such_scale_of_several_stays(scale, word, tmp_path):
    several = {**SEVERAL, "scale": floats([0.5, scale])}
    _, report = strip(tmp_path, [NEG], **several, options=["--clip", "never"])
    assert reasons(report)["dq"].startswith(f"one of its scales is {word}, ")


@pytest.mark.parametrize("scale, word", DEGENERATE)
def test_input_and_output_whose_scale_is_no_scale_stay_quantized(scale, word, tmp_path):
    nodes = [dq("in s low", "a"), node("Neg", "a", "b"), q("b s low", "out")]
    proto = model(nodes, [value("in", "uint8")], [value("out", "uint8")],
                  [floats(scale).tensor("s"), codes("uint8", 0).tensor("low")])
    source = save(proto, tmp_path / "in.onnx")
    _, report = convert(source, "--strip-qdq", "--clip", "never")
    reason = f"its scale is {word}, so the pair turns numbers into zeros, infinities or NaN"
    assert reasons(report) == {"dq": reason, "q": reason}
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()


def test_scale_that_is_computed_leaves_the_pair(tmp_path):
    nodes = [NEG, node("ReduceMax", "in", "s", keepdims=0), q("a s low", "aq"), dq("aq s low", "b"),
             node("Identity", "b", "out")]
    proto = model(nodes, ["in"], ["out"], [codes("uint8", 0).tensor("low")])
    source = save(proto, tmp_path / "in.onnx")
    _, report = convert(source, "--strip-qdq")
    assert reasons(report)["dq"] == "the range to keep is not known: s is computed by ReduceMax"
    stripped, _ = convert(source, "--strip-qdq", "--clip", "never", "--force")
    assert op_types(stripped) == ["Neg", "ReduceMax", "Identity"]


@pytest.mark.parametrize("quantizes", [False, True])
def test_type_changed_where_a_clip_had_no_operator_set(quantizes, tmp_path):
    """The input became float, and the DequantizeLinear that needs a Clip stayed."""
    make = q if quantizes else dq
    proto = model([make("in s low", "out", domain="com.microsoft")],
                  ["in" if quantizes else value("in", "uint8")],
                  [value("out", "uint8" if quantizes else "float32")],
                  [SCALE.tensor("s"), codes("uint8", 0).tensor("low")], domains=["com.microsoft"])
    del proto.opset_import[0]
    source = save(proto, tmp_path / "in.onnx")
    _, report = convert(source, "--strip-qdq")
    reason = "a Clip needs an ai.onnx operator set, which the model does not import"
    assert list(reasons(report).values()) == [reason]
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()


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


@pytest.mark.parametrize("order", list(itertools.permutations(range(5))),
                         ids=lambda o: "".join(map(str, o)))
def test_clip_read_a_name_that_was_gone_when_its_pair_stood_before_the_one_it_reads(
    order, tmp_path):
    """The first pair goes without a trace, and the Clip in the place of the second must follow."""
    nodes = [node("Sigmoid", "in", "s1"), q("s1 s low", "aq"), dq("aq s low", "a"),
             q("a s high", "bq"), dq("bq s high", "b")]
    tensors = [floats(0.1).tensor("s"), codes("uint8", 0).tensor("low"),
               codes("uint8", 255).tensor("high")]
    proto = model([nodes[i] for i in order] + [node("Identity", "b", "out")],
                  [value("in", "float32")], [value("out", "float32")], tensors, opset=21,
                  ir_version=10)
    # onnx.checker wants nodes in order, ONNX Runtime does not.
    dequant("convert", save(proto, tmp_path / "in.onnx"), "-o", tmp_path / "out.onnx",
            "--strip-qdq", "-q")
    [clip] = [n for n in onnx.load(tmp_path / "out.onnx").graph.node if n.op_type == "Clip"]
    assert clip.input[0] == "s1"
    session(tmp_path / "out.onnx")
