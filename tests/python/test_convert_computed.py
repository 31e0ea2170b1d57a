"""`dequant convert` folds a DequantizeLinear whose inputs are computed from constants: a pair of a
float constant, as quantization-aware training leaves it, and scales that are dequantized
themselves."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from arithmetic import (BITS, FLOATS, Codes, assert_same, codes, codes_of, dequantized, floats,
                        onnx_code, opset_of)
from support import (SCALE, X, Y, ZERO, assert_same_outputs, constant, convert, dequant, dq,
                     initializer, model, names, node, op_types, q, reasons, save, session, value)

WEIGHT = floats([[0.26, -0.74, 3.3], [-200.0, 200.0, 0.1]])
RNG = np.random.default_rng(3)


def pair(weight=WEIGHT, scale=floats(0.5), zero=codes("int8", 0), opset=21, dq_opset=None, **more):
    """weight -> QuantizeLinear -> DequantizeLinear -> y."""
    both = {k: v for k, v in more.items() if k in ("axis", "block_size")}
    quantize = {k: v for k, v in more.items() if k not in ("ir_version",)}
    back = dict(both)
    if scale.element == "float8e8m0" or (opset >= 23 and weight.element != scale.element):
        back["output_dtype"] = onnx_code(weight.element)
    inputs = ["w s z", "wq s z"] if zero is not None else ["w s", "wq s"]
    nodes = [q(inputs[0], "wq", **quantize), dq(inputs[1], **back)]
    tensors = [weight.tensor("w"), scale.tensor("s")] + ([zero.tensor("z")]
                                                         if zero is not None else [])
    return model(nodes, outputs=[value("y", weight.element, weight.codes.shape)],
                 initializers=tensors, opset=opset,
                 ir_version=more.get("ir_version", 10 if opset < 23 else 13))


def computed(proto):
    """What the model's output y is, by ONNX Runtime or, where that has no kernel, by the
    reference."""
    try:
        return session_of(proto)
    except Exception:  # noqa: BLE001  ONNX Runtime's exceptions have no common base of their own
        return ReferenceEvaluator(proto).run(None, {})[0]


def session_of(proto):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, {})[0]


def same(proto, tmp_path, expected=None):
    converted, report = convert(save(proto, tmp_path / "in.onnx"))
    assert (op_types(converted), report["left"]) == ([], [])
    if expected is None:
        expected = codes_of(computed(proto))
    assert_same(initializer(converted, "y"), expected)
    return converted, report


# A pair of a float constant.

@pytest.mark.parametrize("options", [[], ["--strip-qdq"]])
def test_pair_of_a_float_constant_becomes_its_quantized_values(options, tmp_path):
    """Strip gave the constant back as it was before quantization."""
    converted, report = convert(save(pair(), tmp_path / "in.onnx"), *options)
    assert initializer(converted, "y").values().tolist() == [[0.5, -0.5, 3.5], [-64, 63.5, 0]]
    assert (op_types(converted), names(converted)) == ([], ["y"])
    assert (report["left"], report["stripped"]) == ([], [])
    [folded] = report["folded"]
    assert {k: folded[k] for k in ("node", "x", "type", "output_type", "shape", "bytes")} == {
        "node": "dq", "x": "wq", "type": "int8", "output_type": "float32", "shape": [2, 3],
        "bytes": 24 + 4 + 1 + 4 + 1}
    assert report["totals"]["removed_nodes"] == 2


def test_strip_computes_what_the_trained_network_did(tmp_path):
    """20.9 dB from the quantized network, before."""
    weight = floats(RNG.normal(size=[64, 3]))
    nodes = [q("w s", "wq", axis=1), dq("wq s", "wd", axis=1), node("MatMul", "in wd", "out")]
    proto = model(nodes, [value("in", shape=[8, 64])], [value("out", shape=[8, 3])],
                  [weight.tensor("w"), floats([0.2, 0.3, 0.4]).tensor("s")])
    source = save(proto, tmp_path / "in.onnx")
    convert(source, "--strip-qdq")
    assert_same_outputs(source, tmp_path / "out.onnx", runs=5)


INTEGERS = ["uint8", "int8", "uint16", "int16", "uint4", "int4"]
FLOAT8 = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]
HIGHEST = {"uint8": 255, "int8": 127, "uint16": 65535, "int16": 32767, "uint4": 15,
           "int4": 7, "uint2": 3, "int2": 1, "float4e2m1": 6, "float8e4m3fn": 448,
           "float8e4m3fnuz": 240, "float8e5m2": 57344,
           "float8e5m2fnuz": 57344}


def weights_for(element, scale, shape):
    """Numbers within and beyond the range, and all halves between two codes."""
    top = HIGHEST[element]
    numbers = RNG.normal(size=shape) * top * 0.7
    flat = numbers.reshape(-1)
    halves = np.arange(-top - 2, top + 2) + 0.5
    flat[:flat.size // 3] = RNG.choice(halves, flat.size // 3)
    flat[:6] = [np.inf, -np.inf, 0, -0.0, 1e30, -1e30]
    return floats((numbers * np.float32(scale)).astype("f4"))


@pytest.mark.parametrize("element", INTEGERS + FLOAT8 + ["uint2", "int2", "float4e2m1"])
@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_codes_are_those_of_others(element, scale, tmp_path):
    opset = 25 if element in ("uint2", "int2", "float4e2m1") else 21
    weight = weights_for(element, scale, [40, 64])
    zero = None if "float" in element else codes(element, HIGHEST[element] // 2)
    more = {"output_dtype": onnx_code(element)} if zero is None else {}
    proto = pair(weight, floats(scale), zero, opset, **more)
    if opset == 25 and "int" in element:  # the reference takes infinity to the lowest code
        weight.codes[0, :6] = 0
        proto = pair(weight, floats(scale), zero, opset)
    same(proto, tmp_path)


@pytest.mark.parametrize("element", ["float4e2m1", "float6e2m3", "float6e3m2", "float8e4m3fn"])
@pytest.mark.parametrize("zero", [None, 0, 1], ids=["no zero point", "+0", "-0"])
def test_a_zero_point_of_plus_zero_left_the_sign_of_a_quotient_of_minus_zero(element, zero,
                                                                             tmp_path):
    """Of float4 and float6, to whose quotients it is added. An underflow of the quotient to -0, and
    a small quotient that is no zero."""
    if zero == 1 and element.startswith("float6"):
        pytest.skip("refused, as docs/numerics.md says")
    sign = 1 << (BITS[element] - 1)
    point = None if zero is None else Codes(element, np.array(zero * sign, np.uint8))
    more = {"output_dtype": onnx_code(element)} if zero is None else {}
    same(pair(floats([-0.0, -1.0, -1e-42, 0.0, 1e4]), floats(1e4), point, opset_of(element),
              ir_version=12, **more), tmp_path)


def test_quotients_beyond_int32_have_the_codes_at_the_ends(tmp_path):
    """As of ONNX Runtime. The reference evaluator's depend on the machine."""
    converted, _ = same(pair(floats([1e10, -1e10, 3e9]), floats(1.0)), tmp_path)
    assert initializer(converted, "y").values().tolist() == [127, -128, 127]


@pytest.mark.parametrize("element", ["uint8", "int16", "int4", "float8e4m3fn"])
@pytest.mark.parametrize("shape, scales, attributes", [
    ([6, 10], [10], {}), ([6, 10], [6], {"axis": 0}), ([3, 7, 5], [7], {"axis": -2}),
    ([6, 10], [6, 3], {"axis": 1, "block_size": 4}),
    ([6, 10], [2, 10], {"axis": 0, "block_size": 3}),
    ([3, 7, 5], [3, 3, 5], {"axis": 1, "block_size": 3}), ([0, 10], [10], {}),
    ([10], [1], {"axis": 0})])
def test_granularities(element, shape, scales, attributes, tmp_path):
    weight = floats(RNG.normal(size=shape) * 5)
    scale = floats(RNG.uniform(0.05, 2, size=scales))
    zero = codes(element,
                 np.zeros(scales) if "float" in element else RNG.integers(0, 5, size=scales))
    same(pair(weight, scale, zero, **attributes), tmp_path)


def test_large_pair_of_odd_rows(tmp_path):
    """Parts of it start in the middle of rows, and on packed bytes that two rows share."""
    weight = floats(RNG.normal(size=[3, 50001]))
    scale = floats(RNG.uniform(0.1, 0.4, size=[50001]))
    same(pair(weight, scale, codes("int4", RNG.integers(-3, 3, 50001))), tmp_path)


@pytest.mark.parametrize("field", ["float_data", "raw_data", "external"])
def test_constant_stored_anywhere(field, tmp_path):
    proto = pair(floats(RNG.normal(size=[50, 3001])))
    tensor = proto.graph.initializer[0]
    expected = codes_of(computed(proto))
    if field == "float_data":
        tensor.float_data.extend(np.frombuffer(tensor.raw_data, "<f4"))
        tensor.ClearField("raw_data")
    if field == "external":
        (tmp_path / "w.bin").write_bytes(tensor.raw_data)
        onnx.external_data_helper.set_external_data(tensor, "w.bin")
        tensor.ClearField("raw_data")
    same(proto, tmp_path, expected)


def test_pair_through_identity_and_casts_to_its_own_type(tmp_path):
    nodes = [node("Identity", "w", "i"), q("i s z", "wq"),
             node("Cast", "wq", "c", to=TensorProto.INT8), node("Identity", "c", "d"), dq("d s z")]
    proto = model(nodes, initializers=[WEIGHT.tensor("w"), floats(0.5).tensor("s"),
                                       codes("int8", 0).tensor("z")])
    converted, _ = same(proto, tmp_path)
    assert names(converted) == ["y"]


def test_constant_that_others_read_stays(tmp_path):
    proto = pair()
    proto.graph.node.append(node("Neg", "w", "n"))
    proto.graph.output.append(value("n"))
    converted, _ = convert(save(proto, tmp_path / "in.onnx"))
    assert (op_types(converted), names(converted)) == (["Neg"], ["w", "y"])


def test_codes_that_others_read_stay(tmp_path):
    proto = pair()
    proto.graph.output.append(value("wq", "int8"))
    converted, _ = convert(save(proto, tmp_path / "in.onnx"))
    assert (op_types(converted), names(converted)) == (["QuantizeLinear"], ["w", "s", "z", "y"])


# Where implementations differ, and the pair stays with the reason.

def stays(proto, tmp_path, reason):
    """In a network, both ways of converting leave the pair and say why."""
    proto.graph.node.append(node("Neg", "y", "out"))
    kind = proto.graph.output[0].type.tensor_type
    proto.graph.output[0].CopyFrom(value("out", "float32"))
    proto.graph.output[0].type.tensor_type.CopyFrom(kind)
    source = save(proto, tmp_path / "in.onnx")
    computed_by = "wq is computed by QuantizeLinear: "
    for options in ([], ["--strip-qdq", "--force"]):
        converted, report = convert(source, *options)
        assert reasons(report) == {"q": reason.removeprefix(computed_by), "dq": reason}
        assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()


def test_nan_has_no_integer_code(tmp_path):
    stays(pair(floats([[1, np.nan, 3]])), tmp_path,
          "wq is computed by QuantizeLinear: x / y_scale is NaN, which int8 has not")


def test_nan_is_nan_in_float8(tmp_path):
    same(pair(floats([[1, np.nan, 3]]), zero=codes("float8e4m3fn", 0)), tmp_path)


@pytest.mark.parametrize("element", FLOAT8)
def test_without_saturation_only_numbers_in_range(element, tmp_path):
    inside = pair(floats([[1, -2.3, 100]]), zero=codes(element, 0), saturate=0)
    same(inside, tmp_path)
    outside = pair(floats([[1, 70000, 3]]), zero=codes(element, 0), saturate=0)
    (tmp_path / "outside").mkdir()
    stays(outside, tmp_path / "outside",
          "wq is computed by QuantizeLinear: saturate is 0 and x / y_scale is out of range, where "
          "implementations differ")


def divided_in_float16(element="float16"):
    """Numbers and a scale of that type."""
    return floats(np.arange(-12, 12, 0.05).reshape(2, -1), element), floats(0.1, element)


def test_float16_division_rounds_to_the_same_codes_or_the_pair_stays(tmp_path):
    """Before operator set 23 the reference evaluator divides in float16, ONNX Runtime in
    float32."""
    numbers, scale = divided_in_float16()
    x32 = numbers.values().astype("f4") / np.float32(scale.values())
    x16 = numbers.values().astype("f2") / np.float16(scale.values())
    differ = np.rint(x32) != np.rint(x16.astype("f4"))
    assert differ.any()
    stays(pair(numbers, scale), tmp_path,
          "wq is computed by QuantizeLinear: x / y_scale gives other codes in float16 than in "
          "float32, and implementations differ in that")
    numbers.codes[differ] = 0
    (tmp_path / "same").mkdir()
    same(pair(numbers, scale), tmp_path / "same")


@pytest.mark.parametrize("opset", [23, 25])
@pytest.mark.parametrize("precision", [{}, {"precision": TensorProto.FLOAT16}],
                         ids=["scale", "attribute"])
@pytest.mark.parametrize("zero", [codes("int8", 3), codes("uint16", 30000), codes("int4", 0),
                                  codes("float8e4m3fn", 0)], ids=lambda z: z.element)
def test_float16_division_is_specified_since_version_23_and_stayed(opset, precision, zero,
                                                                    tmp_path):
    proto = pair(*divided_in_float16("float32" if precision else "float16"), zero, opset=opset,
                 **precision)
    assert_same(codes_of(ReferenceEvaluator(proto).run(None, {})[0]), codes_of(session_of(proto)))
    same(proto, tmp_path)


def test_bfloat16_division_is_specified_since_version_23_and_stayed(tmp_path):
    same(pair(*divided_in_float16("bfloat16"), opset=23), tmp_path)


def test_types_of_which_the_division_is_specified_but_not_done_stay(tmp_path):
    """The reference evaluator divides a float32 by a float16 in float32."""
    numbers, _ = divided_in_float16("float32")
    stays(pair(numbers, floats(0.1, "float16"), opset=23), tmp_path,
          "wq is computed by QuantizeLinear: x / y_scale gives other codes in float16 than in "
          "float32, and implementations differ in that")


@pytest.mark.parametrize("weight, scale, more, reason", [
    (floats([[1, 2]], "float16"), floats(0.5), dict(opset=21),
     "y_scale: float32, where x is float16"),
    (codes("int32", [[1, 2]]), floats(0.5), dict(opset=23),
     "x: int32 is not float32, float16 or bfloat16")])
def test_other_types_stay(weight, scale, more, reason, tmp_path):
    """The first is wrong, so onnx.checker is not asked."""
    proto = pair(weight, scale, **more)
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    source = save(proto, tmp_path / "in.onnx")
    report = json.loads(dequant("convert", source, "-o", tmp_path / "out.onnx", "--json").stdout)
    assert reasons(report)["dq"] == f"wq is computed by QuantizeLinear: {reason}"


def test_constant_that_can_be_overridden_stays_quantized(tmp_path):
    """Strip gave it back as it was before quantization."""
    proto = pair()
    proto.graph.input.append(value("w"))
    stays(proto, tmp_path,
          "w is a graph input and can be overridden (assume-const takes its value)")
    converted, _ = convert(tmp_path / "in.onnx", "--assume-const", "--force")
    assert_same(initializer(converted, "y"), codes_of(computed(pair())))


# Scales that are dequantized themselves.

def nested(scale_type="float8e4m3fn", x_type="float4e2m1", block=4):
    """x in blocks whose scales are dequantized by one scale more."""
    rng = np.random.default_rng(1)
    x = codes(x_type, rng.integers(0, 16, [6, 8]))
    scales = codes(scale_type, rng.integers(1, 100, [6, 8 // block]))
    nodes = [dq("sq s", "scale", "inner"), dq("x scale", axis=1, block_size=block)]
    proto = model(nodes, outputs=[value("y", shape=[6, 8])], opset=23, ir_version=11,
                  initializers=[x.tensor("x"), scales.tensor("sq"), floats(0.013).tensor("s")])
    return proto, dequantized(x, dequantized(scales, floats(0.013)), axis=1, block_size=block)


def test_scale_that_is_dequantized_itself_takes_one_run(tmp_path):
    """NVFP4 as ONNX has it took two."""
    proto, expected = nested()
    converted, report = same(proto, tmp_path, expected)
    assert names(converted) == ["y"]
    assert [f["node"] for f in report["folded"]] == ["dq"]
    assert report["totals"]["removed_nodes"] == 2
    assert report["folded"][0]["bytes"] == 24 + 12 + 4


def test_scale_that_others_read_becomes_an_initializer_too(tmp_path):
    proto, expected = nested()
    proto.graph.output.append(value("scale", shape=[6, 2]))
    converted, _ = same(proto, tmp_path, expected)
    assert names(converted) == ["scale", "y"]


def test_nodes_in_any_order(tmp_path):
    """onnx.checker wants them sorted, so it is not asked."""
    proto, expected = nested()
    nodes = list(proto.graph.node)[::-1]
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    dequant("convert", save(proto, tmp_path / "in.onnx"), "-o", tmp_path / "out.onnx")
    assert_same(initializer(onnx.load(tmp_path / "out.onnx"), "y"), expected)


@pytest.mark.parametrize("memory", ["1", "1Gi"])
def test_many_nested_scales_in_little_memory(memory, tmp_path):
    rng = np.random.default_rng(1)
    x, scales = rng.integers(0, 256, [2048, 4096]), rng.integers(1, 100, [2048, 512])
    nodes = [dq("sq s", "scale", "inner"), dq("x scale", axis=1, block_size=8)]
    tensors = [codes("int8", x).tensor("x"), codes("float8e4m3fn", scales).tensor("sq"),
               floats(0.013).tensor("s")]
    proto = model(nodes, outputs=[value("y", shape=x.shape)], initializers=tensors)
    expected = dequantized(codes("int8", x),
                           dequantized(codes("float8e4m3fn", scales), floats(0.013)), axis=1,
                           block_size=8)
    converted, _ = convert(save(proto, tmp_path / "in.onnx"), "--mem", memory)
    assert_same(initializer(converted, "y"), expected)


def test_inspect_and_extract_see_nested_scales_and_pairs(tmp_path):
    proto, expected = nested()
    source = save(proto, tmp_path / "in.onnx")
    rows = json.loads(dequant("inspect", source, "--json").stdout)["nodes"]
    assert [(r["node"], r["constant"]) for r in rows] == [("inner", True), ("dq", True)]
    assert rows[1]["values"]["max"] == expected.values().max()
    dequant("extract", source, "y", "-o", tmp_path / "y.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected.values())

    source = save(pair(), tmp_path / "pair.onnx")
    [row] = json.loads(dequant("inspect", source, "--json").stdout)["nodes"]
    assert (row["constant"], row["x"], row["type"]) == (True, "wq", "int8")
    assert row["values"] == {"min": -64, "max": 63.5, "nan": 0}
    dequant("extract", source, "wq", "--raw", "-o", tmp_path / "codes.npy")
    assert np.load(tmp_path / "codes.npy").tolist() == [[1, -1, 7], [-128, 127, 0]]


def test_chain_of_pairs_ends(tmp_path):
    """Each pair takes the value of the one before: a few are computed, many are left with the
    reason."""
    def chain(pairs):
        nodes = []
        for i in range(pairs):
            nodes += [q(f"w{i} s", f"q{i}", f"q{i}"), dq(f"q{i} s", f"w{i + 1}", f"dq{i}")]
        return model(nodes, outputs=[value(f"w{pairs}")],
                     initializers=[WEIGHT.tensor("w0"), floats(0.5).tensor("s")])

    converted, report = convert(save(chain(3), tmp_path / "short.onnx"))
    assert (op_types(converted), [f["node"] for f in report["folded"]]) == ([], ["dq2"])
    converted, report = convert(save(chain(4000), tmp_path / "long.onnx"), to="long_out.onnx")
    assert len(report["folded"]) == 1
    assert reasons(report)["dq2000"] == "q1992 is computed by more than 16 nodes"
    [before] = session(tmp_path / "long.onnx").run(None, {})
    [after] = session(tmp_path / "long_out.onnx").run(None, {})
    assert before.tobytes() == after.tobytes()
