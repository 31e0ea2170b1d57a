"""The bits of others, live: onnx's reference evaluator and ONNX Runtime."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import dequant
from arithmetic import INPUTS, Codes, codes, floats, onnx_code, opset_of, random_codes
from tensors import EDGES, array_of, same_bits
from test_dialects import rows, zero_points

SCALES = ["float32", "float16", "bfloat16"]


def model(x, scale, zero, **attributes):
    """A model of one node whose inputs are constants; a bfloat16 result is widened, since numpy has
    none."""
    output = attributes.get("output_dtype", onnx_code(scale.element))
    wide = output == onnx_code("bfloat16")
    constants = [tensor.tensor(name) for name, tensor in (("x", x), ("s", scale), ("z", zero))
                 if tensor is not None]
    nodes = [onnx.helper.make_node("DequantizeLinear", ["x", "s", "z"][:len(constants)], ["y"],
                                   **attributes)]
    if wide:
        nodes.append(onnx.helper.make_node("Cast", ["y"], ["wide"], to=1))
    y = onnx.helper.make_tensor_value_info("wide" if wide else "y", 1 if wide else output,
                                           x.codes.shape)
    graph = onnx.helper.make_graph(nodes, "g", [], [y], constants)
    opset = onnx.helper.make_opsetid("", opset_of(x.element))
    return onnx.helper.make_model(graph, opset_imports=[opset], ir_version=13)


def ours(x, scale, zero, **attributes):
    y = dequant.onnx.dequantize_linear(array_of(x), array_of(scale),
                                       None if zero is None else array_of(zero),
                                       **attributes)
    return y if y.dtype != ml_dtypes.bfloat16 else y.astype(np.float32)


def nodes(element, scale, rng):
    """Per tensor, every code by edge values on an axis, and blocks. A zero point of int32 is 0, for
    the others round x before they subtract, or let the difference wrap."""
    def zeros(count):
        return zero_points(element, count,
                           rng) if element != "int32" else codes(element, np.zeros(count, int))

    with np.errstate(over="ignore"):
        edges = floats(EDGES[np.isfinite(EDGES)], scale)
    yield random_codes(rng, element, (5, 7)), floats(0.37, scale), None, {}
    x = rows(element, edges, rng)
    yield Codes(element, x.codes.T.copy()), edges, zeros(edges.codes.size), {"axis": -1}
    x, few = random_codes(rng, element, (6, 10, 3)), \
        random_codes(rng, "uint8", (6, 4, 3)).values() / 7
    yield x, floats(few, scale), Codes(element, zeros(72).codes.reshape(6, 4, 3)), \
        {"axis": 1, "block_size": 3}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("element", INPUTS)
def test_the_evaluator_of_onnx_gives_these_bits(element, scale, rng):
    for x, s, zero, attributes in nodes(element, scale, rng):
        with np.errstate(all="ignore"):
            y, = ReferenceEvaluator(model(x, s, zero, **attributes)).run(None, {})
        same_bits(ours(x, s, zero, **attributes), y)


# It has no CPU kernels for float4, nor for scales of bfloat16, and no float6.
@pytest.mark.parametrize("scale", ["float32", "float16"])
@pytest.mark.parametrize("element", [element for element in INPUTS
                                     if not element.startswith(("float4", "float6"))])
def test_onnx_runtime_gives_these_bits(element, scale, rng, onnxruntime):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    for x, s, zero, attributes in nodes(element, scale, rng):
        session = onnxruntime.InferenceSession(model(x, s, zero, **attributes).SerializeToString(),
                                               options)
        y, = session.run(None, {})
        same_bits(ours(x, s, zero, **attributes), y)
