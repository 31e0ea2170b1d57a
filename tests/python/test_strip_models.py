"""`dequant convert --strip-qdq` on real models: what remains is a plain float model that computes
about what the quantized one did."""

import json

import numpy as np
import onnx
import pytest

from support import EXAMPLES, dequant, digits_accuracy, op_types, session


def strip(source, target, *options):
    report = json.loads(dequant("convert", source, "-o", target, "--strip-qdq", "--json",
                                *options).stdout)
    onnx.checker.check_model(str(target), full_check=True)
    return onnx.load(target), report


@pytest.mark.parametrize("name", ["digits_qdq_int8", "digits_qdq_int4"])
def test_digits_are_recognized_as_well(name, tmp_path):
    stripped, _ = strip(EXAMPLES / f"{name}.onnx", tmp_path / "plain.onnx")
    assert not {"QuantizeLinear", "DequantizeLinear"} & set(op_types(stripped))
    before = digits_accuracy(EXAMPLES / f"{name}.onnx")
    assert abs(digits_accuracy(tmp_path / "plain.onnx") - before) <= 0.5


def makers_of(proto, op_type):
    """The operators that compute what the nodes of a type read."""
    makers = {n.output[0]: n.op_type for n in proto.graph.node}
    return [makers.get(n.input[0], n.input[0]) for n in proto.graph.node if n.op_type == op_type]


def test_digits_get_back_the_relus_that_their_quantizer_dropped(tmp_path):
    """The float original has three; without them accuracy is lost."""
    original = onnx.load(EXAMPLES / "digits_float.onnx")
    assert "Relu" not in op_types(onnx.load(EXAMPLES / "digits_qdq_int8.onnx"))
    stripped, report = strip(EXAMPLES / "digits_qdq_int8.onnx", tmp_path / "plain.onnx")
    assert makers_of(original, "Relu") == ["Conv", "Conv", "Add"]
    assert makers_of(stripped, "Clip") == ["image", "Conv", "Conv", "MatMul", "Add",
                                           "MatMul", "Add"]
    assert report["totals"]["left"] == 0


def test_mobilenet_becomes_a_plain_float_model(shared, tmp_path):
    source = shared / "models" / "maui_mobilenetv2_int8_qdq.onnx"
    stripped, report = strip(source, tmp_path / "plain.onnx")
    assert set(op_types(stripped)) == {"Conv", "Relu", "Add", "GlobalAveragePool", "Flatten",
                                       "Gemm", "Clip", "Constant"}
    assert report["left"] == []
    assert "Relu" not in makers_of(stripped, "Clip")
    image = np.random.default_rng(1).normal(size=[4, 3, 244, 244]).astype("f4")
    [before] = session(source).run(None, {"image": image})
    [after] = session(tmp_path / "plain.onnx").run(None, {"image": image})
    assert np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.9


@pytest.mark.parametrize("name", [
    "conv.int4_weights.qdq", "conv_qdq_external_ini", "conv_qdq_s8s8_perchannel",
    "float8__te.cast_fp8_1_fp32",
    "ort_github_issue_12151_neg_dq_axis",
    "transform__qdq_with_multi_consumer_dq_nodes.fixed.qdq16_contrib"])
def test_shared_model_loses_all_quantization(shared, name, tmp_path):
    source = shared / "models" / f"{name}.onnx"
    stripped, report = strip(source, tmp_path / "plain.onnx")
    assert not {"QuantizeLinear", "DequantizeLinear"} & set(op_types(stripped))
    assert report["left"] == []
    before, after = session(source), session(tmp_path / "plain.onnx")
    assert [(o.name, o.type, o.shape) for o in before.get_outputs()] == [
        (o.name, o.type, o.shape) for o in after.get_outputs()]


def test_float_model_stays_byte_for_byte(tmp_path):
    strip(EXAMPLES / "digits_float.onnx", tmp_path / "plain.onnx")
    assert (tmp_path / "plain.onnx").read_bytes() == (EXAMPLES / "digits_float.onnx").read_bytes()


@pytest.mark.parametrize("threads", ["1", "3"])
def test_stripping_twice_and_again_gives_the_same_bytes(threads, tmp_path):
    source = EXAMPLES / "digits_qdq_int8.onnx"
    strip(source, tmp_path / "plain.onnx")
    strip(source, tmp_path / "other.onnx", "-T", threads)
    strip(tmp_path / "plain.onnx", tmp_path / "again.onnx")
    first = (tmp_path / "plain.onnx").read_bytes()
    assert first == (tmp_path / "other.onnx").read_bytes() == (tmp_path / "again.onnx").read_bytes()
