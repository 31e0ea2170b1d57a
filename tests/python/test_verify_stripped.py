"""`dequant verify` of models of `convert --strip-qdq`: bounds of Clip nodes and weights of
operators of quantized arithmetic are compared, too."""

import json

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnxruntime.quantization import quantize_dynamic

from support import EXAMPLES, convert, dequant, model, node, save, value
from test_operators_arithmetic import FLOAT, float_model, quantize

QDQ = EXAMPLES / "digits_qdq_int8.onnx"


def verified(source, target, code=0):
    return json.loads(dequant("verify", source, target, "--json", code=code).stdout)


@pytest.fixture(name="stripped")
def fixture_stripped(tmp_path):
    dequant("convert", QDQ, "-o", tmp_path / "out.onnx", "--strip-qdq", "--clip", "always")
    return tmp_path / "out.onnx"


def test_bounds_of_clip_nodes_were_unexpected(stripped):
    found = verified(QDQ, stripped)
    assert found["good"] and found["unexpected"] == []
    assert found["totals"]["compared"] == 8 + 2 * 9  # weights, and bounds of nine pairs


@pytest.mark.parametrize("end", ["_min", "_max"])
def test_a_bound_that_is_not_that_of_the_pair_is_wrong(stripped, end):
    changed = onnx.load(stripped)
    constant = next(n for n in changed.graph.node if n.output[0] == "logits" + end)
    right = numpy_helper.to_array(constant.attribute[0].t)
    wrong = np.nextafter(right, np.float32(0))
    constant.attribute[0].t.raw_data = wrong.tobytes()
    onnx.save(changed, stripped)
    found = verified(QDQ, stripped, code=1)["wrong"]
    assert [t["name"] for t in found] == ["logits" + end]
    assert (found[0]["right"], found[0]["found"]) == (float(right), float(wrong))


def test_a_constant_that_is_no_bound_of_a_pair_is_unexpected(stripped):
    changed = onnx.load(stripped)
    changed.graph.initializer.append(numpy_helper.from_array(np.float32(1), "limit"))
    changed.graph.node.append(node("Clip", "logits limit", "limited"))
    onnx.save(changed, stripped)
    assert verified(QDQ, stripped, code=1)["unexpected"] == ["limit"]


@pytest.mark.parametrize("operator", FLOAT)
def test_weights_of_quantized_arithmetic_were_missing_and_unexpected(operator, tmp_path):
    original = float_model(operator, tmp_path / "float.onnx")
    quantized = quantize(original, tmp_path / "quantized.onnx")
    stripped, _ = convert(quantized, "--strip-qdq", "--require-float")
    report = verified(quantized, tmp_path / "out.onnx")
    assert report["good"] and report["totals"]["dequantized"] == len(FLOAT[operator][1])
    # In the model that is stored again, a weight that was changed is named.
    for initializer in stripped.graph.initializer:
        if initializer.name == "w":
            data = np.array(numpy_helper.to_array(initializer))
            data.flat[3] += 1
            initializer.CopyFrom(numpy_helper.from_array(data, "w"))
            onnx.save(stripped, tmp_path / "out.onnx")
            found = verified(quantized, tmp_path / "out.onnx", code=1)["wrong"]
            assert [(t["name"], t["first_different"]) for t in found] == [("w", 3)]


def test_inspect_did_not_show_the_weights_of_quantized_arithmetic(tmp_path):
    quantized = quantize(float_model("QLinearConv", tmp_path / "float.onnx"),
                         tmp_path / "quantized.onnx", per_channel=True)
    found = json.loads(dequant("inspect", quantized, "--json").stdout)
    weights = {n["output"]: n for n in found["nodes"] if n["constant"]}
    assert set(weights) == {"w", "b"} and found["other_constants"] == []
    assert weights["w"]["op_type"] == "QLinearConv" and weights["w"]["granularity"] == "per_axis"
    out = tmp_path / "w.npy"
    dequant("extract", quantized, "w", "-o", out)
    convert(quantized, "--strip-qdq")
    kept = {i.name: numpy_helper.to_array(i) for i in onnx.load(tmp_path / "out.onnx")
            .graph.initializer}
    np.testing.assert_array_equal(np.load(out), kept["w"])


def test_the_table_of_a_dynamically_quantized_embedding_was_unexpected(tmp_path):
    rng = np.random.default_rng(5)
    tensors = [numpy_helper.from_array(rng.normal(size=shape).astype("f4"), name)
               for name, shape in (("table", (50, 16)), ("w", (16, 8)))]
    nodes = [node("Gather", "table ids", "rows"), node("MatMul", "rows w", "y")]
    ids = value("ids", "int64", ["n"])
    original = save(model(nodes, [ids], [value("y", shape=["n", 8])], tensors),
                    tmp_path / "float.onnx")
    quantize_dynamic(original, tmp_path / "quantized.onnx")
    convert(tmp_path / "quantized.onnx", "--strip-qdq")
    report = verified(tmp_path / "quantized.onnx", tmp_path / "out.onnx")
    assert report["good"] and report["totals"]["dequantized"] == 2
    found = json.loads(dequant("inspect", tmp_path / "quantized.onnx", "--json").stdout)
    names = {n["output"] for n in found["nodes"] if n["constant"]}
    assert names == {"table_DequantizeLinear_Output", "w"} and found["other_constants"] == []


@pytest.mark.parametrize("op_type, inputs", [
    ("QLinearSigmoid", "rows s zero t zero"), ("QLinearAdd", "rows s zero rows s zero t zero"),
    ("QLinearConcat", "t zero rows s zero rows s zero")])
def test_a_table_whose_rows_quantized_arithmetic_reads_was_unexpected(op_type, inputs, tmp_path):
    more = {"axis": 0} if op_type == "QLinearConcat" else {}
    nodes = [node("Gather", "table ids", "rows"),
             node(op_type, inputs, "codes", "arithmetic", "com.microsoft", **more),
             node("DequantizeLinear", "codes t zero", "y")]
    table = np.arange(-10, 10, dtype="i1").reshape(5, 4)
    tensors = [numpy_helper.from_array(a, name) for name, a in (
        ("table", table), ("s", np.float32(0.1)), ("t", np.float32(0.5)), ("zero", np.int8(0)))]
    source = save(model(nodes, [value("ids", "int64", [2])], [value("y", shape=["n", 4])], tensors,
                        opset=13, domains=["com.microsoft"]), tmp_path / "in.onnx")
    convert(source, "--strip-qdq")
    report = verified(source, tmp_path / "out.onnx")
    assert report["good"] and report["totals"]["dequantized"] == 1
    found = json.loads(dequant("inspect", source, "--json").stdout)
    assert sum(n["constant"] for n in found["nodes"]) == 1 and found["other_constants"] == []


def test_a_value_that_an_operator_of_quantized_arithmetic_computes_names_it(tmp_path):
    quantized = quantize(float_model("QLinearConv", tmp_path / "float.onnx"),
                         tmp_path / "quantized.onnx")
    found = json.loads(dequant("inspect", quantized, "--json").stdout)
    left = [n for n in found["nodes"] if not n["constant"]]
    assert len(left) == 1 and left[0]["reason"].endswith("is computed by QLinearConv")


