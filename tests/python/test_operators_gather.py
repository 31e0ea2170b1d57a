"""`dequant convert` turns GatherBlockQuantized and MatMulBnb4 into Gather and MatMul with a float
weight, that of the operators' definitions."""

import json
import logging

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization.matmul_bnb4_quantizer import MatMulBnb4Quantizer
from onnxruntime.quantization.matmul_nbits_quantizer import (DefaultWeightOnlyQuantConfig,
                                                             MatMulNBitsQuantizer)

from arithmetic import codes as codes_of
from operators_support import least_sqnr, sqnr
from support import convert, dequant, model, names, node, op_types, reasons, save, session, value
from weight_models import TABLES, bnb4, table


@pytest.mark.parametrize("name", TABLES)
def test_table_has_the_bits_of_the_definition_and_of_onnx_runtime(name, tmp_path):
    proto, dense = table(**TABLES[name])
    source = save(proto, tmp_path / "in.onnx")
    plain, report = convert(source, "--require-float")
    assert op_types(plain) == ["Gather"] and names(plain) == ["data_dequantized"]
    assert numpy_helper.to_array(plain.graph.initializer[0]).tobytes() == dense.tobytes()
    axis = TABLES[name].get("gather_axis", 0)
    given = {"indices": np.array([2, 0, -1, *range(dense.shape[axis])], "i8")}
    [before], [after] = (session(p).run(None, given) for p in (source, tmp_path / "out.onnx"))
    assert before.tobytes() == after.tobytes()
    [folded] = report["folded"]
    assert (folded["x"], folded["shape"]) == ("data", list(dense.shape))


def test_table_of_floats_with_scales_that_repeat(tmp_path):
    """Not in every ONNX Runtime: by the schema alone."""
    rng = np.random.default_rng(1)
    codes = rng.normal(size=[4, 40]).astype(ml_dtypes.float8_e4m3fn)
    scales = rng.normal(size=[1, 3]).astype("f4")
    made = node("GatherBlockQuantized", "data indices scales", "y", "g", "com.microsoft",
                block_size=16)
    indices = helper.make_tensor_value_info("indices", onnx.TensorProto.INT64, ["k"])
    proto = model([made], [indices], [value("y", shape=["k", 40])],
                  [codes_of("float8e4m3fn", codes.view("u1")).tensor("data"),
                   numpy_helper.from_array(scales, "scales")], domains=["com.microsoft"])
    plain, _ = convert(save(proto, tmp_path / "in.onnx"), "--require-float")
    dense = codes.astype("f4") * np.repeat(scales, 16, axis=1)[:, :40]
    assert numpy_helper.to_array(plain.graph.initializer[0]).tobytes() == dense.tobytes()


@pytest.mark.parametrize("symmetric", [True, False])
def test_table_of_onnx_runtimes_quantizer_becomes_float(symmetric, tmp_path):
    rng = np.random.default_rng(2)
    words = numpy_helper.from_array(rng.normal(size=[30, 64]).astype("f4"), "words")
    indices = helper.make_tensor_value_info("i", onnx.TensorProto.INT64, ["k"])
    original = save(model([node("Gather", "words i", "y", "layer")], [indices],
                          [value("y", shape=["k", 64])], [words]), tmp_path / "float.onnx")
    logging.disable(logging.INFO)
    config = DefaultWeightOnlyQuantConfig(block_size=32, is_symmetric=symmetric,
                                          op_types_to_quantize=("Gather",),
                                          quant_axes=(("Gather", 1),))
    quantizer = MatMulNBitsQuantizer(onnx.load(original), algo_config=config)
    quantizer.process()
    logging.disable(logging.NOTSET)
    source = tmp_path / "in.onnx"
    quantizer.model.save_model_to_file(str(source))
    assert op_types(onnx.load(source)) == ["GatherBlockQuantized"]
    plain, _ = convert(source, "--require-float")
    assert op_types(plain) == ["Gather"] and names(plain) == ["words"]
    given = {"i": np.arange(30)}
    [exact], [before], [after] = (session(p).run(None, given) for p in (
        original, source, tmp_path / "out.onnx"))
    assert before.tobytes() == after.tobytes() and sqnr(exact, after) > 10


STAYS = {
    "block": (dict(block_size=24), "block_size: 24 is not a power of 2 from 16 on"),
    "axis": (dict(quantize_axis=2), "quantize_axis: 2 for rank 2"),
    "gathered": (dict(gather_axis=1),
                 "bytes of codes are gathered on the first axis, in blocks on the last"),
    "bits": (dict(bits=3), "bits: 3 is not one of 2, 4, 8"),
}


@pytest.mark.parametrize("case", STAYS)
def test_operator_that_is_not_sound_stays_with_a_reason(case, tmp_path):
    change, reason = STAYS[case]
    proto, _ = table()
    for a in proto.graph.node[0].attribute:
        if a.name in change:
            a.i = change[a.name]
    source = save(proto, tmp_path / "in.onnx")
    report = json.loads(dequant("convert", source, "-o", tmp_path / "o.onnx", "--json").stdout)
    assert reasons(report) == {"g": reason}
    assert (tmp_path / "o.onnx").read_bytes() == source.read_bytes()


def test_scales_of_another_shape_stay(tmp_path):
    proto, _ = table()
    scales = next(t for t in proto.graph.initializer if t.name == "scales")
    scales.CopyFrom(numpy_helper.from_array(np.ones([5, 2], "f4"), "scales"))
    source = save(proto, tmp_path / "in.onnx")
    report = json.loads(dequant("convert", source, "-o", tmp_path / "o.onnx", "--json").stdout)
    assert reasons(report) == {"g": "scales: shape [5, 2] where [5, 3] is needed"}


def test_a_table_shared_with_a_product_becomes_two_constants(tmp_path):
    """As in models whose last layer has the weight of the embedding: the same bytes, read as rows
    and as a transposed matrix."""
    proto, dense = table(shape=(6, 48), zero_points=False)
    blob = next(t for t in proto.graph.initializer if t.name == "data")
    shaped = numpy_helper.to_array(blob).reshape(6, 3, 8)
    proto.graph.node.extend([node("Reshape", "data shape", "b", "view"), node(
        "MatMulNBits", "y b scales", "z", "m", "com.microsoft", K=48, N=6, bits=4, block_size=16)])
    proto.graph.initializer.append(numpy_helper.from_array(np.array(shaped.shape), "shape"))
    proto.graph.output.append(value("z", shape=["k", 6]))
    plain, report = convert(save(proto, tmp_path / "in.onnx"), "--require-float")
    assert op_types(plain) == ["Gather", "MatMul"]
    found = {t.name: numpy_helper.to_array(t) for t in plain.graph.initializer}
    assert found["data_dequantized"].tobytes() == dense.tobytes()
    assert found["b_dequantized"].tobytes() == dense.T.tobytes()
    assert report["totals"]["quantized_bytes"] == blob.ByteSize() - len("data") - 12 + 6 * 3 * 4 \
        or report["totals"]["quantized_bytes"] < 2 * len(blob.raw_data) + 2 * 72


# MatMulBnb4.

@pytest.mark.parametrize("quant_type", [MatMulBnb4Quantizer.FP4, MatMulBnb4Quantizer.NF4])
@pytest.mark.parametrize("k, block_size", [(64, 16), (40, 16), (33, 32), (16, 64)])
def test_product_with_4_bits_of_bitsandbytes_becomes_float(quant_type, k, block_size, tmp_path):
    rng = np.random.default_rng(2)
    w = numpy_helper.from_array(rng.normal(size=[k, 6]).astype("f4"), "w")
    original = save(model([node("MatMul", "x w", "y", "layer")], [value("x", shape=["n", k])],
                          [value("y", shape=["n", 6])], [w]), tmp_path / "float.onnx")
    logging.disable(logging.INFO)
    quantizer = MatMulBnb4Quantizer(onnx.load(original), quant_type, block_size)
    quantizer.process()
    logging.disable(logging.NOTSET)
    source = tmp_path / "in.onnx"
    quantizer.model.save_model_to_file(str(source))
    assert op_types(onnx.load(source)) == ["MatMulBnb4"]
    plain, report = convert(source, "--require-float")
    whole = k % block_size == 0
    assert op_types(plain) == (["MatMul"] if whole else ["Transpose", "MatMul"])
    [constant] = plain.graph.initializer
    dense = numpy_helper.to_array(constant)
    dense = dense if whole else dense.T
    [product] = session(source).run(None, {"x": np.eye(k, dtype="f4")})
    assert (np.ascontiguousarray(dense) + 0).tobytes() == (product + 0).tobytes()
    assert least_sqnr(original, tmp_path / "out.onnx") >= least_sqnr(original, source) - 0.01
    assert report["folded"][0]["bytes"] == (6 * k + 1) // 2 + 4 * -(-6 * k // block_size)


@pytest.mark.parametrize("transposed", [0, 1])
def test_product_with_the_weight_as_it_is_stored(transposed, tmp_path):
    proto, dense = bnb4(transposed=transposed)
    source = save(proto, tmp_path / "in.onnx")
    plain, report = convert(source, "--require-float")
    assert op_types(plain) == ["MatMul"]
    assert report["folded"][0]["shape"] == list(dense.shape)
    found = numpy_helper.to_array(plain.graph.initializer[0])
    assert found.tobytes() == dense.tobytes()
    if transposed:  # ONNX Runtime has the other for training only
        [product] = session(source).run(None, {"x": np.eye(len(dense), dtype="f4")})
        assert (found + 0).tobytes() == (product + 0).tobytes()
