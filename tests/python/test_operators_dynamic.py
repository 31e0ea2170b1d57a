"""`dequant convert --strip-qdq` on models that ONNX Runtime quantizes dynamically: MatMulInteger,
ConvInteger with what is around them, QAttention, QEmbedLayerNormalization, DynamicQuantizeLSTM."""

import logging

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from operators_support import sqnr
from support import convert, dequant, model, node, op_types, reasons, save, session, value

RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def same_numbers_in_any_order_of_tests():
    global RNG
    RNG = np.random.default_rng(3)


def tensor(name, *shape, scale=0.3):
    return numpy_helper.from_array((RNG.normal(size=shape) * scale).astype("f4"), name)


def ints(name, *shape):
    return helper.make_tensor_value_info(name, onnx.TensorProto.INT32, shape)


def bert(nodes, tensors, inputs, outputs):
    return model(nodes, inputs, outputs, tensors, domains=["com.microsoft"])


def float_models():
    x, h = value("x", shape=["n", 24]), value("y", shape=["n", 10])
    two = [node("MatMul", "x w", "h", "one"), node("Add", "h b", "s", "bias"),
           node("MatMul", "s v", "y", "two")]
    image = value("x", shape=["n", 3, 8, 8])
    tokens = [ints("ids", "n", 6), ints("segments", "n", 6), ints("mask", "n", 6)]
    embedding = [tensor("word", 30, 16), tensor("position", 6, 16), tensor("segment", 2, 16),
                 tensor("gamma", 16), tensor("beta", 16)]
    attention = node("Attention", "x w b mask", "y", "layer", "com.microsoft", num_heads=4)
    return {
        "MatMulInteger": model(two, [x], [h], [tensor("w", 24, 24), tensor("b", 24),
                                               tensor("v", 24, 10)]),
        "two readers": model([node("MatMul", "x w", "a", "one"), node("MatMul", "x v", "b", "two"),
                              node("Add", "a b", "y", "sum")], [x], [h],
                             [tensor("w", 24, 10), tensor("v", 24, 10)]),
        "ConvInteger": model([node("Conv", "x w b", "y", "layer", pads=[1, 1, 1, 1])], [image],
                             [value("y", shape=["n", 6, 8, 8])],
                             [tensor("w", 6, 3, 3, 3), tensor("b", 6)]),
        "QAttention": bert([attention], [tensor("w", 16, 48), tensor("b", 48)],
                           [value("x", shape=["n", 6, 16]), ints("mask", "n")],
                           [value("y", shape=["n", 6, 16])]),
        "QEmbedLayerNormalization": bert(
            [node("EmbedLayerNormalization", "ids segments word position segment gamma beta mask",
                  "y index", "layer", "com.microsoft", epsilon=1e-5)],
            embedding, tokens, [value("y", shape=["n", 6, 16]), ints("index", "n")]),
        "DynamicQuantizeLSTM": model(
            [node("LSTM", "x w r b", "y last", "layer", hidden_size=8)],
            [value("x", shape=["n", 2, 16])],
            [value("y", shape=["n", 1, 2, 8]), value("last", shape=[1, 2, 8])],
            [tensor("w", 1, 32, 16), tensor("r", 1, 32, 8), tensor("b", 1, 64)]),
        "LSTM in both directions": model(
            [node("LSTM", "x w r", "y - cell", "layer", hidden_size=8, direction="bidirectional")],
            [value("x", shape=["n", 2, 16])],
            [value("y", shape=["n", 2, 2, 8]), value("cell", shape=[2, 2, 8])],
            [tensor("w", 2, 32, 16), tensor("r", 2, 32, 8)]),
    }


MODELS = float_models()
OPERATOR = {"two readers": "MatMulInteger", "LSTM in both directions": "DynamicQuantizeLSTM"}
MODELS["LSTM in both directions"].graph.node[0].output[:] = ["y", "", "cell"]


def feeds(path, seed=7):
    rng = np.random.default_rng(seed)
    given = {}
    for i in session(path).get_inputs():
        shape = [d if isinstance(d, int) else 64 for d in i.shape]
        if i.type == "tensor(float)":
            given[i.name] = rng.normal(size=shape).astype("f4")
        elif i.name == "mask" and len(shape) == 1:
            given[i.name] = np.full(shape, 6, "i4")
        else:
            given[i.name] = rng.integers(0, 2, shape, "i4")
    return given


def quantize(source, target, **options):
    logging.disable(logging.WARNING)
    quantize_dynamic(source, target, op_types_to_quantize=[
        "MatMul", "Conv", "Attention", "EmbedLayerNormalization", "LSTM"],
        extra_options={"MatMulConstBOnly": True}, **options)
    logging.disable(logging.NOTSET)
    return target


def constants(proto):
    return {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}


KINDS = {
    "uint8": dict(weight_type=QuantType.QUInt8),
    "int8": dict(weight_type=QuantType.QInt8),
    "per channel": dict(weight_type=QuantType.QInt8, per_channel=True),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_dynamically_quantized_model_becomes_float(name, kind, tmp_path):
    original = save(MODELS[name], tmp_path / "float.onnx")
    source = quantize(original, tmp_path / "in.onnx", **KINDS[kind])
    operator = OPERATOR.get(name, name)
    assert operator in op_types(onnx.load(source))
    plain, report = convert(source, "--strip-qdq", "--require-float")
    expected = op_types(MODELS[name])
    left = [t for t in op_types(plain) if t != "Reshape"]  # of the bias of a Conv
    assert left == (expected if name != "ConvInteger" else ["Conv", "Add"])
    assert {"op_type": operator, "replaced_by": [t for t in expected if t != "Add"][0]}.items() <= \
        next(s for s in report["stripped"] if s["op_type"] == operator).items()
    # Enough inputs that errors of weights and of activations do not cancel out.
    sessions = [session(p) for p in (original, source, tmp_path / "out.onnx")]
    runs = [[s.run(None, feeds(original, seed)) for s in sessions] for seed in range(32)]
    for i in range(len(runs[0][0])):
        e, q, s = (np.concatenate([run[k][i].ravel() for run in runs]) for k in range(3))
        assert sqnr(e, q) > 10 and sqnr(e, s) >= sqnr(e, q) - 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_weights_have_the_bits_of_the_definition(kind, tmp_path):
    original = save(MODELS["MatMulInteger"], tmp_path / "float.onnx")
    proto = onnx.load(quantize(original, tmp_path / "in.onnx", **KINDS[kind]))
    stored = constants(proto)
    found = constants(convert(tmp_path / "in.onnx", "--strip-qdq")[0])
    assert sorted(found) == ["b", "v", "w"]
    for name in "vw":
        codes, scale, zero = (stored[f"{name}_{what}"] for what in (
            "quantized", "scale", "zero_point"))
        dense = (codes.astype("f4") - zero.astype("f4")) * scale
        assert found[name].tobytes() == dense.astype("f4").tobytes()


@pytest.mark.parametrize("name", ["DynamicQuantizeLSTM", "LSTM in both directions"])
@pytest.mark.parametrize("kind", ["int8", "per channel"])
def test_weights_of_an_lstm_have_the_bits_of_the_definition(name, kind, tmp_path):
    original = save(MODELS[name], tmp_path / "float.onnx")
    source = quantize(original, tmp_path / "in.onnx", **KINDS[kind])
    stored = constants(onnx.load(source))
    plain, report = convert(source, "--strip-qdq")
    found = constants(plain)
    [layer] = plain.graph.node
    for at, weight in ((1, "w"), (2, "r")):
        codes, scale, zero = (stored[f"{weight}_{what}"].astype("f4") for what in (
            "quantized", "scale", "zero_point"))
        scale, zero = (v.reshape(len(codes), 1, -1) for v in (scale, zero))
        dense = ((codes - zero) * scale).transpose(0, 2, 1)
        assert found[layer.input[at]].tobytes() == dense.tobytes()
    assert len(report["folded"]) == 2
    _, report = convert(source, to="same.onnx")
    assert [l["reason"] for l in report["left"]] == [
        "its arithmetic is quantized (strip-qdq replaces it)"]


def test_product_that_is_scaled_otherwise_stays(tmp_path):
    original = save(MODELS["MatMulInteger"], tmp_path / "float.onnx")
    proto = onnx.load(quantize(original, tmp_path / "q.onnx"))
    name = next(n.output[0] for n in proto.graph.node if n.op_type == "MatMulInteger")
    proto.graph.output.append(ints(name, "n", 24))
    plain, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert op_types(plain).count("MatMulInteger") == 1
    assert "no Cast to float32 and Mul by both scales follow, as dynamic quantization has them" in \
        reasons(report).values()


def integers(codes, opset=21, graph_input="uint8", factor=0.001):
    """A product of integers whose scales are one constant, as an optimizer leaves them."""
    tensors = [numpy_helper.from_array(codes, "w"),
               numpy_helper.from_array(np.uint8(120), "zx"),
               numpy_helper.from_array(np.asarray(factor, "f4"), "factor")]
    nodes = [node("MatMulInteger", "x w zx", "i", "product"), node("Cast", "i", "c", to=1),
             node("Mul", "c factor", "y", "scaled")]
    return model(nodes, [value("x", graph_input, ["n", 24])], [value("y", shape=["n", 10])],
                 tensors, opset=opset)


@pytest.mark.parametrize("factor", [0.001, np.linspace(0.001, 0.004, 10)])
def test_product_of_scales_may_be_one_constant(factor, tmp_path):
    """As in models that ONNX Runtime saves optimized. The other factor then has the scale 1."""
    codes = RNG.integers(-128, 128, [24, 10], "i1")
    source = save(integers(codes, factor=factor), tmp_path / "in.onnx")
    plain, report = convert(source, "--strip-qdq", "--clip", "never")
    assert report["left"] == [] and op_types(plain) == ["MatMul"]
    dense = codes.astype("f4") * np.asarray(factor, "f4")
    assert [v.tobytes() for v in constants(plain).values()] == [dense.tobytes()]
    [changed] = report["inputs_changed"]
    assert (changed["name"], changed["scale"], changed["zero_point"]) == ("x", 1, 120)
    # Without VNNI, ONNX Runtime saturates sums of two products of 8 bits in 16 bits.
    x = RNG.integers(0, 128, [4, 24], "u1")
    [before] = session(source).run(None, {"x": x})
    [after] = session(tmp_path / "out.onnx").run(None, {"x": x.astype("f4") - 120})
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-3)


def test_product_of_scales_needs_a_constant_of_floats(tmp_path):
    proto = integers(RNG.integers(-128, 128, [24, 10], "i1"), opset=11)
    _, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert reasons(report) == {
        "product": "a Constant of floats needs ai.onnx opset 12; the model imports 11"}


def test_product_by_a_computed_factor_stays(tmp_path):
    proto = integers(RNG.integers(-128, 128, [24, 10], "i1"))
    del proto.graph.initializer[2]
    proto.graph.input.append(value("factor", shape=[]))
    _, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert reasons(report) == {"product": "no Cast to float32 and Mul by both scales follow, as "
                                          "dynamic quantization has them"}


def channels(scale, zero, kind="i1", **attributes):
    """A ConvInteger whose output channels have scales; x is quantized dynamically."""
    tensors = [numpy_helper.from_array(RNG.integers(0, 100, [6, 3, 3, 3]).astype(kind), "w"),
               numpy_helper.from_array(np.asarray(scale, "f4"), "ws")]
    if zero is not None:
        tensors.append(numpy_helper.from_array(np.asarray(zero, kind), "wz"))
    nodes = [node("DynamicQuantizeLinear", "x", "q s z", "dql"),
             node("ConvInteger", "q w z" + (" wz" if zero is not None else ""), "i", "layer",
                  **attributes),
             node("Cast", "i", "c", to=1), node("Mul", "s ws", "both"),
             node("Mul", "c both", "y", "scaled")]
    return model(nodes, [value("x", shape=["n", 3, 8, 8])],
                 [value("y", shape=["n", 6, "h", "v"])], tensors)


SCALES = np.linspace(0.01, 0.06, 6)


@pytest.mark.parametrize("scale, zero", [
    (SCALES.reshape(6, 1, 1), None), (SCALES.reshape(1, 6, 1, 1), None),
    (SCALES.reshape(6, 1, 1), 0), (np.full([1, 1, 1, 1], 0.03), 0), (np.full([1], 0.03), 5),
    (np.float32(0.03), 5)])
def test_output_channels_of_a_conv_may_have_scales(scale, zero, tmp_path):
    source = save(channels(scale, zero, pads=[1, 0, 1, 0]), tmp_path / "in.onnx")
    plain, report = convert(source, "--strip-qdq")
    assert op_types(plain) == ["Conv"] and report["left"] == []
    codes = constants(onnx.load(source))["w"].astype("f4")
    dense = (codes - np.float32(zero or 0)) * scale.astype("f4").reshape(-1, 1, 1, 1)
    assert constants(plain)["w_dequantized"].tobytes() == dense.astype("f4").tobytes()
    given = {"x": np.random.default_rng(1).normal(size=[4, 3, 8, 8]).astype("f4")}
    [before], [after] = (session(p).run(None, given) for p in (source, tmp_path / "out.onnx"))
    assert sqnr(after, before) > 30


def test_zero_points_of_output_channels_are_those_of_the_codes(tmp_path):
    """ONNX Runtime has no kernel for several."""
    source = save(channels(SCALES.reshape(6, 1, 1), [5, 6, 7, 8, 9, 10]), tmp_path / "in.onnx")
    plain, _ = convert(source, "--strip-qdq", "--require-float")
    codes = constants(onnx.load(source))["w"].astype("f4")
    dense = (codes - np.arange(5, 11, dtype="f4").reshape(6, 1, 1, 1)) * \
        SCALES.astype("f4").reshape(6, 1, 1, 1)
    assert constants(plain)["w_dequantized"].tobytes() == dense.tobytes()


# A scale for each number of the output's last axis, one more axis, other zero points.
@pytest.mark.parametrize("scale, zero, reason", [
    (SCALES, None, "ws: float32[6] is no scale, and none of each output channel of w[6, 3, 3, 3]"),
    (np.full([1] * 5, 0.1), None,
     "ws: float32[1, 1, 1, 1, 1] is no scale, and none of each output channel of w[6, 3, 3, 3]"),
    (SCALES.reshape(6, 1, 1), 5,
     "wz: zero points of shape [], where scales have the shape [6]")])
def test_other_scales_of_a_conv_stay(scale, zero, reason, tmp_path):
    proto = channels(scale, zero)
    proto.graph.output[0].CopyFrom(value("y", shape=[*(["k"] * (np.ndim(scale) - 4)), "n", "m",
                                                     "h", "v"]))
    _, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert reasons(report)["layer"] == reason


@pytest.mark.parametrize("bias", [False, True])
def test_products_that_onnx_runtime_fuses_become_float(bias, tmp_path):
    """MatMulIntegerToFloat and DynamicQuantizeMatMul, as in models that it saves optimized."""
    w = RNG.integers(0, 256, [24, 10], "u1")
    tensors = [numpy_helper.from_array(w, "w"),
               numpy_helper.from_array(np.full(10, 0.02, "f4"), "scale"),
               numpy_helper.from_array(np.full(10, 128, "u1"), "zero"), tensor("bias", 10)]
    end = " bias" if bias else ""
    nodes = [node("DynamicQuantizeLinear", "x", "q s z", "dql"),
             node("MatMulIntegerToFloat", f"q w s scale z zero{end}", "h", "one", "com.microsoft"),
             node("DynamicQuantizeMatMul", f"x w scale zero{end}", "k", "two", "com.microsoft"),
             node("Add", "h k", "y", "sum")]
    proto = model(nodes, [value("x", shape=["n", 24])], [value("y", shape=["n", 10])], tensors,
                  domains=["com.microsoft"])
    source = save(proto, tmp_path / "in.onnx")
    plain, report = convert(source, "--strip-qdq")
    assert report["left"] == []
    assert op_types(plain) == (["MatMul", "Add"] if bias else ["MatMul"]) * 2 + ["Add"]
    given = {"x": np.random.default_rng(1).normal(size=[4, 24]).astype("f4")}
    [before], [after] = (session(p).run(None, given) for p in (source, tmp_path / "out.onnx"))
    assert sqnr(after, before) > 30
