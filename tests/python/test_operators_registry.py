"""Every operator that ONNX Runtime's quantizers know comes out of `dequant convert --strip-qdq` as
a float operator: a model of each, in all formats that the quantizers write."""

import logging

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, quantize_dynamic,
                                      quantize_static)
from onnxruntime.quantization.registry import (IntegerOpsRegistry, QDQRegistry,
                                               QLinearOpsRegistry)

from operators_support import sqnr
from support import convert, model, node, op_types, save, session, value

SEED = 3


def tensor(name, *shape, scale=0.3):
    rng = np.random.default_rng([SEED, *name.encode()])
    return numpy_helper.from_array((rng.normal(size=shape) * scale).astype("f4"), name)


def ints(name, *numbers):
    return numpy_helper.from_array(np.array(numbers, "i8"), name)


def behind_conv(nodes, result, *tensors, more=(), element="float32"):
    """A Conv, whose output is quantized, and the nodes that read it as h."""
    first = node("Conv", "x w0 b0", "h", "first", pads=[1, 1, 1, 1])
    return model([first, *nodes], [value("x", shape=["n", 3, 8, 8]), *more],
                 [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(
                     np.dtype(element)), result)],
                 [tensor("w0", 4, 3, 3, 3), tensor("b0", 4), *tensors], opset=21)


def alone(nodes, shape, result, *tensors):
    return model(nodes, [value("x", shape=shape)], [value("y", shape=result)], tensors)


def of_tokens(nodes, *tensors, result=("n", 6, 16)):
    inputs = [helper.make_tensor_value_info(n, onnx.TensorProto.INT32, ["n", 6])
              for n in sorted({i for n in nodes for i in n.input} & {"ids", "mask", "segments"})]
    return model(nodes, inputs, [value("y", shape=result)], tensors, domains=["com.microsoft"])


SAME = ["n", 4, 8, 8]


def one(op_type, result=None, inputs="h", *tensors, **attributes):
    return behind_conv([node(op_type, inputs, "y", "layer", **attributes)], result or SAME,
                       *tensors)


EMBEDDING = [tensor("word", 30, 16), tensor("position", 6, 16), tensor("segment", 2, 16),
             tensor("gamma", 16), tensor("beta", 16)]
EMBED = node("EmbedLayerNormalization", "ids segments word position segment gamma beta mask",
             "e index", "embed", "com.microsoft")

MODELS = {
    "Add": behind_conv([node("Sigmoid", "h", "g", "gate"), node("Add", "h g", "y", "layer")],
                       SAME),
    "ArgMax": behind_conv([node("ArgMax", "h", "y", "layer", axis=1, keepdims=0)],
                          ["n", 8, 8], element="int64"),
    "Attention": of_tokens([EMBED, node("Attention", "e aw ab index", "y", "layer",
                                        "com.microsoft", num_heads=4)],
                           *EMBEDDING, tensor("aw", 16, 48), tensor("ab", 48)),
    "AveragePool": one("AveragePool", ["n", 4, 4, 4], kernel_shape=[2, 2], strides=[2, 2]),
    "BatchNormalization": one("BatchNormalization", SAME, "h s b m v", tensor("s", 4, scale=1),
                              tensor("b", 4), tensor("m", 4),
                              numpy_helper.from_array(np.full(4, 0.7, "f4"), "v")),
    "Clip": one("Clip", SAME, "h lo hi", numpy_helper.from_array(np.float32(0), "lo"),
                numpy_helper.from_array(np.float32(6), "hi")),
    "Concat": behind_conv([node("Sigmoid", "h", "g", "gate"),
                           node("Concat", "h g", "y", "layer", axis=1)], ["n", 8, 8, 8]),
    "Conv": one("Conv", ["n", 5, 8, 8], "h w1", tensor("w1", 5, 4, 1, 1)),
    "ConvTranspose": one("ConvTranspose", ["n", 5, 9, 9], "h w1", tensor("w1", 4, 5, 2, 2)),
    "CumSum": one("CumSum", SAME, "h axis", numpy_helper.from_array(np.int64(2), "axis")),
    "EmbedLayerNormalization": of_tokens([EMBED, node("Identity", "e", "y", "out")], *EMBEDDING),
    "Flatten": one("Flatten", ["n", 256]),
    "Gather": model([node("Gather", "table ids", "e", "layer"),
                     node("MatMul", "e w1", "y", "last")],
                    [helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, ["n", 6])],
                    [value("y", shape=["n", 6, 16])],
                    [tensor("table", 30, 16), tensor("w1", 16, 16)]),
    "GatherElements": one("GatherElements", [2, 4, 8, 8], "h i",
                          numpy_helper.from_array(np.arange(512).reshape(2, 4, 8, 8) % 4, "i"),
                          axis=1),
    "Gemm": behind_conv([node("Flatten", "h", "f", "flat"),
                         node("Gemm", "f w1 b1", "y", "layer", transB=1)], ["n", 10],
                        tensor("w1", 10, 256), tensor("b1", 10)),
    "GlobalAveragePool": one("GlobalAveragePool", ["n", 4, 1, 1]),
    "InstanceNormalization": one("InstanceNormalization", SAME, "h s b", tensor("s", 4, scale=1),
                                 tensor("b", 4)),
    "LSTM": alone([node("LSTM", "x w r b", "y", "layer", hidden_size=8)], ["n", 2, 16],
                  ["n", 1, 2, 8], tensor("w", 1, 32, 16), tensor("r", 1, 32, 8),
                  tensor("b", 1, 64)),
    "LayerNormalization": one("LayerNormalization", SAME, "h s b", tensor("s", 8, scale=1),
                              tensor("b", 8)),
    "LeakyRelu": one("LeakyRelu", alpha=0.2),
    "MatMul": one("MatMul", SAME, "h w1", tensor("w1", 8, 8)),
    "MaxPool": one("MaxPool", ["n", 4, 4, 4], kernel_shape=[2, 2], strides=[2, 2]),
    "Mul": behind_conv([node("Sigmoid", "h", "g", "gate"), node("Mul", "h g", "y", "layer")],
                       SAME),
    "Pad": one("Pad", ["n", 4, 10, 9], "h pads", ints("pads", 0, 0, 1, 1, 0, 0, 1, 0)),
    "Relu": one("Relu"),
    "Reshape": one("Reshape", ["n", 64, 4], "h shape", ints("shape", 0, 64, 4)),
    "Resize": one("Resize", ["n", 4, 16, 16], "h - scales",
                  numpy_helper.from_array(np.array([1, 1, 2, 2], "f4"), "scales"), mode="nearest"),
    "Sigmoid": one("Sigmoid"),
    "Slice": one("Slice", ["n", 4, 6, 8], "h from to axes", ints("from", 1), ints("to", 7),
                 ints("axes", 2)),
    "Softmax": one("Softmax", axis=1),
    "Split": behind_conv([node("Split", "h", "s0 s1", "layer", axis=1, num_outputs=2),
                          node("Concat", "s1 s0", "y", "back", axis=1)], SAME),
    "Squeeze": behind_conv([node("GlobalAveragePool", "h", "g", "mean"),
                            node("Squeeze", "g axes", "y", "layer")], ["n", 4], ints("axes", 2, 3)),
    "TopK": behind_conv([node("TopK", "h k", "y i", "layer", axis=1)], ["n", 2, 8, 8],
                        ints("k", 2)),
    "Transpose": one("Transpose", ["n", 8, 8, 4], perm=[0, 2, 3, 1]),
    "Unsqueeze": one("Unsqueeze", ["n", 1, 4, 8, 8], "h axes", ints("axes", 1)),
    "Where": behind_conv([node("Sigmoid", "h", "g", "gate"),
                          node("Where", "flag h g", "y", "layer")], SAME,
                         more=[value("flag", "bool", ["n", 4, 1, 8])]),
}


# quantize_dynamic() leaves a Transpose of floats.
DYNAMIC = {
    "Transpose": model([node("Gather", "table ids", "e", "first"),
                        node("Transpose", "e", "t", "layer", perm=[0, 2, 1]),
                        node("MatMul", "t w1", "y", "last")],
                       [helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, ["n", 6])],
                       [value("y", shape=["n", 16, 5])],
                       [tensor("table", 30, 16), tensor("w1", 6, 5)]),
}


def feeds(path, seed):
    rng = np.random.default_rng(seed)
    given = {}
    for i in session(path).get_inputs():
        shape = [d if isinstance(d, int) else 32 for d in i.shape]
        if i.type == "tensor(bool)":
            given[i.name] = rng.random(shape) < 0.5
        elif i.type == "tensor(float)":
            given[i.name] = rng.normal(size=shape).astype("f4")
        else:
            given[i.name] = rng.integers(0, 2 if i.name != "ids" else 30, shape).astype(
                {"tensor(int32)": "i4", "tensor(int64)": "i8"}[i.type])
    return given


SEEDS = range(16)


class Samples(CalibrationDataReader):
    """The inputs of the comparison, so that no number is cut off."""

    def __init__(self, path):
        self.batches = iter([feeds(path, seed) for seed in SEEDS])

    def get_next(self):
        return next(self.batches, None)


def optimize(source, target):
    """ONNX Runtime's own model: it has operators of quantized arithmetic in the place of pairs."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def quantize(kind, source, target):
    if "optimized" in kind:
        optimize(quantize(kind.split()[0], source, target.with_suffix(".plain.onnx")), target)
        return target
    logging.disable(logging.WARNING)
    try:
        if kind == "dynamic":
            quantize_dynamic(source, target, op_types_to_quantize=list(IntegerOpsRegistry),
                             extra_options={"MatMulConstBOnly": True})
        else:
            quantize_static(source, target, Samples(source),
                            quant_format=QuantFormat.QDQ if "QDQ" in kind
                            else QuantFormat.QOperator, per_channel="channel" in kind,
                            extra_options={"ForceQuantizeNoInputCheck": "forced" in kind})
    finally:
        logging.disable(logging.NOTSET)
    return target


def agreement(exact, other):
    """In dB; of integers the part of those that are equal."""
    if exact.dtype.kind == "f":
        return sqnr(exact, other)
    return 100 * (exact == other).mean()


REGISTRIES = {"QOperator": QLinearOpsRegistry, "QOperator forced": QLinearOpsRegistry,
              "QOperator by channel": QLinearOpsRegistry, "QDQ": QDQRegistry,
              "QDQ forced": QDQRegistry, "QDQ by channel": QDQRegistry,
              "QDQ optimized": QDQRegistry, "dynamic": IntegerOpsRegistry,
              "dynamic optimized": IntegerOpsRegistry}
# quantize_static() writes no valid model of a Where whose inputs it does not force to be quantized.
CASES = [(operator, kind) for kind, registry in REGISTRIES.items() for operator in sorted(registry)
         if operator != "Where" or not kind.startswith("QOperator") or "forced" in kind]


def test_all_operators_of_the_registries_have_a_model():
    """An operator that a newer ONNX Runtime quantizes fails here."""
    assert set(MODELS) == {name for registry in REGISTRIES.values() for name in registry}


def dense(stored, name):
    """What the constant "name" of the float model is by the definition of DequantizeLinear, for all
    axes that its scales may belong to."""
    codes, scale = stored[f"{name}_quantized"], stored.get(f"{name}_quantized_scale")
    scale = stored[f"{name}_scale"] if scale is None else scale
    zero = stored.get(f"{name}_zero_point", np.zeros_like(scale, codes.dtype))
    for axis in range(codes.ndim):
        shape = [-1 if i == axis else 1 for i in range(codes.ndim)]
        if scale.size in (1, codes.shape[axis]):
            yield ((codes.astype("f4") - zero.astype("f4").reshape(shape)) *
                   scale.reshape(shape)).astype("f4").tobytes()


def constants(proto):
    return {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}


@pytest.mark.parametrize("operator, kind", CASES)
def test_operator_of_a_registry_becomes_float(operator, kind, tmp_path):
    proto = DYNAMIC.get(operator, MODELS[operator]) if "dynamic" in kind else MODELS[operator]
    original = save(proto, tmp_path / "float.onnx")
    source = quantize(kind, original, tmp_path / "in.onnx")
    quantized = onnx.load(source)
    assert [t for t in op_types(quantized) if "Q" in t or "Integer" in t or "Quant" in t]
    plain, report = convert(source, "--strip-qdq", "--require-float")
    assert report["left"] == []
    assert not [t for t in op_types(plain) if "Q" in t or "Integer" in t or "Quant" in t]
    sessions = [session(p) for p in (original, source, tmp_path / "out.onnx")]
    runs = [[s.run(["y"], feeds(original, seed))[0] for s in sessions] for seed in SEEDS]
    exact, before, after = (np.concatenate([run[k].ravel() for run in runs]) for k in range(3))
    least = agreement(exact, before)
    assert least > 10 and agreement(exact, after) >= least - 0.01
    stored = constants(quantized)
    found = {v.tobytes() for v in constants(plain).values()}
    # Not those whose scale is a product, or which are transposed: other tests have their bits.
    names = [n.removesuffix("_quantized") for n in stored if n.endswith("_quantized")]
    names = [n for n in names if f"{n}_scale" in stored or f"{n}_quantized_scale" in stored]
    assert names or "optimized" in kind  # which computes products of scales
    if operator != "LSTM":
        assert all(found & set(dense(stored, name)) for name in names)
