"""`dequant convert --strip-qdq` turns operators of quantized arithmetic into float ones: the model
computes no worse than the quantized one, with the weights of the operators' definitions."""

import logging

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from operators_support import assert_not_worse, samples
from support import (convert, dequant, model, node, op_types, reasons, save, session, value)

RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def same_numbers_in_any_order_of_tests():
    global RNG
    RNG = np.random.default_rng(3)


def tensor(name, *shape):
    return numpy_helper.from_array((RNG.normal(size=shape) * 0.3).astype("f4"), name)


# Float models of one layer for each operator: nodes, constants, the shapes of inputs and output.
IMAGE, MATRIX, ROWS = {"x": ["n", 3, 8, 8]}, {"x": ["n", 24]}, {"x": ["n", 6, 10]}
FLOAT = {
    "QLinearMatMul": ([node("MatMul", "x w", "y", "layer")], [tensor("w", 24, 10)], MATRIX,
                      ["n", 10]),
    "QLinearConv": ([node("Conv", "x w b", "y", "layer", pads=[1, 1, 1, 1], strides=[2, 2])],
                    [tensor("w", 6, 3, 3, 3), tensor("b", 6)], IMAGE, ["n", 6, 4, 4]),
    "QGemm": ([node("Gemm", "x w b", "y", "layer")], [tensor("w", 24, 10), tensor("b", 10)],
              MATRIX, ["n", 10]),
    "QGemm transposed": ([node("Gemm", "x w b", "y", "layer", transB=1)],
                         [tensor("w", 10, 24), tensor("b", 10)], MATRIX, ["n", 10]),
    "QLinearAdd": ([node("Add", "x z", "y", "layer")], [],
                   {"x": ["n", 6, 10], "z": ["n", 1, 10]}, ["n", 6, 10]),
    "QLinearMul": ([node("Mul", "x w", "y", "layer")], [tensor("w", 6, 1)], ROWS, ["n", 6, 10]),
    "QLinearConcat": ([node("Concat", "x z v", "y", "layer", axis=0)], [tensor("v", 3, 10)],
                      {"x": ["n", 10], "z": ["m", 10]}, ["k", 10]),
    "QLinearAveragePool": ([node("AveragePool", "x", "y", "layer", kernel_shape=[3, 3],
                                 pads=[1, 1, 1, 1], count_include_pad=1)], [], IMAGE,
                           ["n", 3, 8, 8]),
    "QLinearGlobalAveragePool": ([node("Sigmoid", "x", "h", "before"),
                                  node("GlobalAveragePool", "h", "y", "layer")], [], IMAGE,
                                 ["n", 3, 1, 1]),
    "QLinearSigmoid": ([node("Sigmoid", "x", "y", "layer")], [], ROWS, ["n", 6, 10]),
    "QLinearLeakyRelu": ([node("LeakyRelu", "x", "y", "layer", alpha=0.2)], [], ROWS,
                         ["n", 6, 10]),
    "QLinearSoftmax": ([node("Softmax", "x", "y", "layer", axis=1)], [], ROWS, ["n", 6, 10]),
    "QLinearWhere": ([node("Where", "flag x z", "y", "layer")], [],
                     {"flag": ["n", 6, 1], "x": ["n", 6, 10], "z": [6, 10]}, ["n", 6, 10]),
}


def float_model(operator, path, opset=21):
    nodes, tensors, shapes, result = FLOAT[operator]
    inputs = [value(n, "bool" if n == "flag" else "float32", s) for n, s in shapes.items()]
    return save(model(nodes, inputs, [value("y", shape=result)], tensors, opset=opset), path)


class Samples(CalibrationDataReader):
    """The inputs of least_sqnr(), so that no number is cut off."""

    def __init__(self, path):
        self.batches = iter(samples(path))

    def get_next(self):
        return next(self.batches, None)


def quantize(source, target, **options):
    logging.disable(logging.WARNING)
    quantize_static(source, target, Samples(source), quant_format=QuantFormat.QOperator,
                    extra_options={"ForceQuantizeNoInputCheck": True}, **options)
    logging.disable(logging.NOTSET)
    return target


KINDS = {
    "uint8": dict(activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8),
    "int8": dict(activation_type=QuantType.QInt8, weight_type=QuantType.QInt8),
    "mixed": dict(activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8),
    "per channel": dict(activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                        per_channel=True),
}
WITH_WEIGHTS = {"QLinearMatMul", "QLinearConv", "QGemm"}


@pytest.mark.parametrize("operator, kind", [
    (o, k) for o in FLOAT for k in KINDS if k != "per channel" or o.split()[0] in WITH_WEIGHTS])
def test_model_of_onnx_runtimes_quantizer_becomes_float(operator, kind, tmp_path):
    original = float_model(operator, tmp_path / "float.onnx")
    source = quantize(original, tmp_path / "in.onnx", **KINDS[kind])
    assert operator.split()[0] in op_types(onnx.load(source))
    plain, report = convert(source, "--strip-qdq", "--require-float")
    expected = [n.op_type for n in FLOAT[operator][0]]
    found = [t for t in op_types(plain) if t not in ("Clip", "Constant", "Identity")]
    assert found == expected
    assert {"node": "layer_quant", "op_type": operator.split()[0], "replaced_by": expected[-1]} \
        in report["stripped"]
    assert report["left"] == []
    assert_not_worse(original, source, tmp_path / "out.onnx")
    # Without the option nothing changes.
    _, report = convert(source, to="same.onnx")
    assert reasons(report)["layer_quant"] == "its arithmetic is quantized (strip-qdq replaces it)"
    assert (tmp_path / "same.onnx").read_bytes() == source.read_bytes()


def constants(proto):
    return {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}


@pytest.mark.parametrize("opset", [10, 12, 13, 21])
@pytest.mark.parametrize("kind", ["int8", "per channel"])
def test_weights_and_biases_have_the_bits_of_the_definition(kind, opset, tmp_path):
    original = float_model("QLinearConv", tmp_path / "float.onnx", opset)
    source = quantize(original, tmp_path / "in.onnx", **KINDS[kind])
    stored = constants(onnx.load(source))
    [conv] = [n for n in onnx.load(source).graph.node if n.op_type == "QLinearConv"]
    _, x_scale, _, w, w_scale, w_zero, _, _, b = (stored.get(i) for i in conv.input)
    plain, _ = convert(source, "--strip-qdq", "--clip", "never")
    found = constants(plain)
    assert sorted(found) == ["b", "w"]
    layer, _ = plain.graph.node  # an Identity keeps the name of the output
    assert [layer.op_type, *layer.input[1:]] == ["Conv", "w", "b"]
    assert {a.name for a in layer.attribute} >= {"pads", "strides"}
    shape = [-1, 1, 1, 1]
    dense = (w.astype("f4") - w_zero.astype("f4").reshape(shape)) * w_scale.reshape(shape)
    assert found["w"].tobytes() == dense.astype("f4").tobytes()
    assert found["b"].tobytes() == (b.astype("f4") * (x_scale * w_scale)).astype("f4").tobytes()


@pytest.mark.parametrize("operator, opset", [
    ("QGemm", 21), ("QGemm", 11), ("QGemm transposed", 13), ("QGemm transposed", 12)])
@pytest.mark.parametrize("kind", ["uint8", "per channel"])
def test_weights_of_a_gemm_have_the_bits_of_the_definition(kind, operator, opset, tmp_path):
    original = float_model(operator, tmp_path / "float.onnx", opset)
    source = quantize(original, tmp_path / "in.onnx", **KINDS[kind])
    stored = constants(onnx.load(source))
    [gemm] = [n for n in onnx.load(source).graph.node if n.op_type == "QGemm"]
    _, x_scale, _, w, w_scale, w_zero, b, *_ = (stored.get(i) for i in gemm.input)
    found = constants(convert(source, "--strip-qdq", "--clip", "never")[0])
    assert sorted(found) == ["b", "w"] and w_scale.size == (10 if kind == "per channel" else 1)
    shape = [-1, 1] if "transposed" in operator else [1, -1]
    dense = (w.astype("f4") - w_zero.astype("f4").reshape(shape)) * w_scale.reshape(shape)
    assert found["w"].tobytes() == dense.astype("f4").tobytes()
    assert found["b"].tobytes() == (b.astype("f4") * (x_scale * w_scale)).astype("f4").tobytes()


def test_constant_of_a_product_has_the_bits_of_the_definition(tmp_path):
    original = float_model("QLinearMul", tmp_path / "float.onnx")
    source = quantize(original, tmp_path / "in.onnx", **KINDS["int8"])
    stored = constants(onnx.load(source))
    [product] = [n for n in onnx.load(source).graph.node if n.op_type == "QLinearMul"]
    w, scale, zero = (stored[i] for i in product.input[3:6])
    found = constants(convert(source, "--strip-qdq", "--clip", "never")[0])
    dense = (w.astype("f4") - zero.astype("f4")) * scale
    assert [v.tobytes() for v in found.values()] == [dense.astype("f4").tobytes()]


def test_operator_whose_parameters_are_computed_stays(tmp_path):
    original = float_model("QLinearMatMul", tmp_path / "float.onnx")
    proto = onnx.load(quantize(original, tmp_path / "q.onnx"))
    [product] = [n for n in proto.graph.node if n.op_type == "QLinearMatMul"]
    proto.graph.input.append(value("given", shape=[]))
    for at, what in ((1, "given"), (6, "given")):
        changed = onnx.ModelProto()
        changed.CopyFrom(proto)
        next(n for n in changed.graph.node if n.name == product.name).input[at] = what
        _, report = convert(save(changed, tmp_path / "in.onnx"), "--strip-qdq", to=f"{at}.onnx")
        assert reasons(report)["layer_quant"] == "given is an input of the graph"
        assert "QLinearMatMul" in op_types(onnx.load(tmp_path / f"{at}.onnx"))


@pytest.mark.parametrize("scale", [0.0, np.inf, np.nan])
def test_operator_with_a_scale_that_is_no_scale_stays(scale, tmp_path):
    original = float_model("QLinearMatMul", tmp_path / "float.onnx")
    proto = onnx.load(quantize(original, tmp_path / "q.onnx"))
    for t in proto.graph.initializer:
        if t.name == "y_scale":
            t.CopyFrom(numpy_helper.from_array(np.float32(scale), t.name))
    _, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert reasons(report)["layer_quant"].startswith("y_scale: a scale of ")


def test_exclude_leaves_an_operator_by_name(tmp_path):
    original = float_model("QLinearMatMul", tmp_path / "float.onnx")
    source = quantize(original, tmp_path / "in.onnx")
    plain, report = convert(source, "--strip-qdq", "--exclude", "layer_quant")
    assert "QLinearMatMul" in op_types(plain)
    assert reasons(report)["layer_quant"] == "not selected by include and exclude"


def test_codes_that_others_read_stay_codes(tmp_path):
    """The QuantizeLinear of an output that is read as it is stays, in a model that is valid."""
    original = float_model("QLinearMatMul", tmp_path / "float.onnx")
    proto = onnx.load(quantize(original, tmp_path / "q.onnx"))
    [product] = [n for n in proto.graph.node if n.op_type == "QLinearMatMul"]
    proto.graph.node.append(node("Cast", product.output[0], "codes", to=1))
    proto.graph.output.append(value("codes", shape=["n", 10]))
    source = save(proto, tmp_path / "in.onnx")
    plain, report = convert(source, "--strip-qdq")
    assert "QLinearMatMul" not in op_types(plain) and "QuantizeLinear" in op_types(plain)
    [left] = report["left"]
    assert (left["node"], left["reason"]) == ("layer_quant_QuantizeLinear",
                                              "its output is used as it is, quantized")
    x = {"x": np.random.default_rng(1).normal(size=[4, 24]).astype("f4")}
    before, after = (session(tmp_path / p).run(None, x)[1] for p in ("in.onnx", "out.onnx"))
    assert np.abs(before - after).max() <= 3  # products of floats that were not quantized


def test_codes_as_inputs_and_outputs_of_the_model_become_floats(tmp_path):
    zero = numpy_helper.from_array(np.uint8(128), "zero")
    scale = numpy_helper.from_array(np.float32(0.05), "scale")
    w = numpy_helper.from_array(RNG.integers(0, 256, [4, 3], "u1"), "w")
    made = node("QLinearMatMul", "x scale zero w scale zero scale zero", "y", "m")
    proto = model([made], [value("x", "uint8", [2, 4])], [value("y", "uint8", [2, 3])],
                  [zero, scale, w])
    plain, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq", "--clip", "never")
    assert op_types(plain) == ["MatMul", "Identity"]
    assert [c["name"] for c in report["inputs_changed"]] == ["x"]
    assert [c["name"] for c in report["outputs_changed"]] == ["y"]
    assert report["left"] == []


def test_operators_of_functions_become_float_there(tmp_path):
    zero = numpy_helper.from_array(np.uint8(128))
    scale = numpy_helper.from_array(np.float32(0.05))
    w = numpy_helper.from_array(RNG.integers(0, 256, [4, 3], "u1"))
    body = [node("Constant", "", "zero", value=zero), node("Constant", "", "scale", value=scale),
            node("Constant", "", "w", value=w), node("QuantizeLinear", "x scale zero", "q"),
            node("QLinearMatMul", "q scale zero w scale zero scale zero", "p", "m"),
            node("DequantizeLinear", "p scale zero", "y")]
    function = helper.make_function("own", "layer", ["x"], ["y"], body,
                                    [helper.make_opsetid("", 21)])
    proto = model([node("layer", "a", "out", "call", "own")], [value("a", shape=[2, 4])],
                  [value("out", shape=[2, 3])], functions=[function], domains=["own"])
    plain, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq", "--clip", "never")
    assert report["left"] == []
    assert [n.op_type for n in plain.functions[0].node] == ["Constant", "MatMul", "Identity"]
    assert session(tmp_path / "out.onnx").run(None, {"a": np.ones([2, 4], "f4")})
