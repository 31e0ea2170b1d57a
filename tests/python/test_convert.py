"""`dequant convert` on real models: ONNX Runtime computes the same bits from the float model as
from the quantized one."""

import pytest

from support import EXAMPLES, assert_same_outputs, convert, dequant

FOLDED = {  # how many DequantizeLinear have constants only
    "conv.int4_weights.qdq": 2,
    "conv_qdq_external_ini": 2,
    "conv_qdq_s8s8_perchannel": 2,
    "float8__te.cast_fp8_1_fp32": 0,
    "maui_mobilenetv2_int8_qdq": 106,
    "ort_github_issue_12151_neg_dq_axis": 1,
    "transform__qdq_with_multi_consumer_dq_nodes.fixed.qdq16_contrib": 12,
}


def copy(source, folder):
    """A model and its data files in a folder of their own."""
    for path in source.parent.glob(source.stem + ".*"):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder / source.name


@pytest.mark.parametrize("name", FOLDED)
def test_shared_model_computes_the_same_bits(shared, name, tmp_path):
    source = copy(shared / "models" / f"{name}.onnx", tmp_path)
    _, report = convert(source)
    assert report["totals"]["folded"] == FOLDED[name]
    assert_same_outputs(source, tmp_path / "out.onnx")


@pytest.mark.parametrize("name", ["digits_float", "digits_qdq_int4", "digits_qdq_int8"])
def test_example_computes_the_same_bits(name, tmp_path):
    source = copy(EXAMPLES / f"{name}.onnx", tmp_path)
    convert(source)
    assert_same_outputs(source, tmp_path / "out.onnx")


def test_float_model_stays_byte_for_byte(tmp_path):
    source = copy(EXAMPLES / "digits_float.onnx", tmp_path)
    convert(source)
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_any_number_of_threads_writes_the_same_bytes(threads, tmp_path):
    source = copy(EXAMPLES / "digits_qdq_int8.onnx", tmp_path)
    convert(source)
    dequant("convert", source, "-o", tmp_path / "other.onnx", "-T", threads)
    assert (tmp_path / "other.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()


@pytest.mark.parametrize("memory", ["1", "8Mi", "1Gi"])
def test_any_amount_of_memory_writes_the_same_bytes(shared, memory, tmp_path):
    source = copy(shared / "models" / "maui_mobilenetv2_int8_qdq.onnx", tmp_path)
    convert(source)
    dequant("convert", source, "-o", tmp_path / "other.onnx", "--mem", memory)
    assert (tmp_path / "other.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()


@pytest.mark.parametrize("name", ["digits_qdq_int4", "digits_qdq_int8"])
def test_converting_again_changes_nothing(name, tmp_path):
    source = copy(EXAMPLES / f"{name}.onnx", tmp_path)
    convert(source)
    _, report = convert(tmp_path / "out.onnx", to="again.onnx")
    assert report["totals"]["folded"] == 0
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()
