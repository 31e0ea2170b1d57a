"""TFLite models in every mode of quantization that tf2onnx turns into ONNX come out of `dequant
convert --strip-qdq` entirely float, and are no further from the Keras model than they were."""

import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidGraph

from support import convert, op_types, session

WANTED = ("tensorflow", "tf2onnx")
MISSING = [name for name in WANTED if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"NO {', '.join(MISSING).upper()}")
CHILD = pathlib.Path(__file__).parent / "tf2onnx_child.py"

MODES = ["dynamic_range", "float_inputs", "int8", "int16x8", "uint8"]
#: Operators of the float models.
MODELS = {
    "blocks": {"Add", "AveragePool", "Concat", "Conv", "MatMul", "MaxPool", "Reshape", "Softmax",
               "Tanh", "Transpose"},
    "padded": {"Conv", "LeakyRelu", "MatMul", "Mul", "Pad", "Resize", "Sigmoid", "Slice"},
    "words": {"Conv", "Gather", "MatMul"},
}
CASES = [(name, mode) for name in MODELS for mode in MODES if (name, mode) != ("words", "int16x8")]
QUANTIZED_IN = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int16x8": TensorProto.INT16}
ALIKE = 0.01  # dB: of the same numbers added in another order
#: What shapes, axes and indices have.
ARGUMENTS = {TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL}


def element_types(values):
    return [v.type.tensor_type.elem_type for v in values]


def is_quantized(node):
    return (node.op_type in ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
            or node.op_type.startswith("QLinear") or node.op_type.endswith("Integer")
            or node.domain not in ("", "ai.onnx"))


def decibels(exact, other):
    noise = np.square(np.float64(other) - exact).sum()
    return 10 * np.log10(np.square(np.float64(exact)).sum() / noise)


def outputs(path, inputs, report=None):
    """Of a model for each input, as floats. With a report its inputs and outputs are quantized, as
    they were before the conversion that the report is about."""
    runtime = session(path)
    [x] = runtime.get_inputs()
    into, out = ([*report[f"{what}s_changed"], None][0] if report else None
                 for what in ("input", "output"))
    if into:
        kind = np.dtype(x.type.removeprefix("tensor(").removesuffix(")"))
        codes = np.round(inputs / np.float32(into["scale"])) + into["zero_point"]
        inputs = np.clip(codes, np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)
    made = np.concatenate([runtime.run(None, {x.name: i})[0] for i in inputs])
    if not out:
        return made
    return (made.astype(np.float32) - out["zero_point"]) * np.float32(out["scale"])


def check_types(before, stripped, report, mode, ids):
    """All is float but shapes, axes and indices, also inputs and outputs; `ids` are indices."""
    assert element_types(stripped.graph.input) == [
        TensorProto.INT32 if ids else TensorProto.FLOAT]
    assert element_types(stripped.graph.output) == [TensorProto.FLOAT]
    kinds = {t.data_type for t in stripped.graph.initializer}
    assert kinds <= {TensorProto.FLOAT} | ARGUMENTS and TensorProto.FLOAT in kinds
    changed = [c["name"] for c in report["inputs_changed"] + report["outputs_changed"]]
    types = element_types([*before.graph.input, *before.graph.output])
    count = 2 - ids if mode in QUANTIZED_IN else 0
    assert len(changed) == types.count(QUANTIZED_IN.get(mode)) == count


def check(name, mode, folder):
    source, target = folder / f"{name}.{mode}.onnx", f"{name}.{mode}.float.onnx"
    before = onnx.load(source)
    assert any(is_quantized(n) for n in before.graph.node)
    stripped, report = convert(source, "--strip-qdq", to=target)
    assert report["left"] == []
    assert [n.name for n in stripped.graph.node if is_quantized(n)] == []
    assert MODELS[name] <= set(op_types(stripped))
    check_types(before, stripped, report, mode, name == "words")

    data = np.load(source.with_suffix(".npz"))
    after = decibels(data["exact"], outputs(folder / target, data["inputs"]))
    assert after > decibels(data["exact"], data["interpreted"]) - ALIKE
    if mode == "int16x8":  # no opset that tf2onnx writes has codes of int16 or int64
        with pytest.raises(InvalidGraph, match="Type 'tensor\\(int(16|64)\\)' of input parameter"):
            session(source)
        return
    assert after > decibels(data["exact"], outputs(source, data["inputs"], report)) - ALIKE


def test_tflite_models_become_entirely_float(tmp_path):
    done = subprocess.run([sys.executable, CHILD, tmp_path], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[-3000:]
    made = {tuple(path.stem.split(".")) for path in tmp_path.glob("*.npz")}
    assert made == set(CASES)
    for name, mode in CASES:
        print(name, mode)  # shown where the check fails
        check(name, mode, tmp_path)
