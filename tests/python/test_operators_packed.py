"""`dequant convert` turns GatherPacked and MatMulPacked, whose weights are rows of GGUF's blocks,
into Gather and MatMul with a float weight."""

import json

import numpy as np
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from operators_support import FLOATS
from support import convert, dequant, names, op_types, reasons, save, session, value
from weight_models import PACKED, blocks_of, packed_product, packed_table


@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("output", ["float32", "float16"])
def test_table_has_the_bits_of_gguf_and_of_onnx_runtime(kind, output, tmp_path):
    proto, dense = packed_table(kind, output=output, columns=512)
    source = save(proto, tmp_path / "in.onnx")
    plain, report = convert(source, "--require-float")
    assert op_types(plain) == ["Gather"] and names(plain) == ["data_dequantized"]
    assert numpy_helper.to_array(plain.graph.initializer[0]).tobytes() == dense.tobytes()
    given = {"indices": np.array([4, 0, *range(5)], "i8")}
    [before], [after] = (session(p).run(None, given) for p in (source, tmp_path / "out.onnx"))
    assert before.tobytes() == after.tobytes()
    [folded] = report["folded"]
    assert (folded["x"], folded["shape"], folded["bytes"]) == (
        "data", [5, 512], len(proto.graph.initializer[0].raw_data))


def test_table_of_a_type_that_gguf_lacks_has_the_bits_of_onnx_runtime(tmp_path):
    """Q2_0: 64 codes of 2 bits behind a float16."""
    proto, _ = packed_table("Q4_0", columns=64, packed_type=42)
    rng = np.random.default_rng(5)
    scales = rng.normal(size=[5, 1]).astype("f2").view("u1")
    stored = np.concatenate([scales, rng.integers(0, 256, [5, 16], "u1")], axis=1)
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(stored, "data"))
    source = save(proto, tmp_path / "in.onnx")
    plain, _ = convert(source, "--require-float")
    [expected] = session(source).run(None, {"indices": np.arange(5)})
    assert numpy_helper.to_array(plain.graph.initializer[0]).tobytes() == expected.tobytes()


@pytest.mark.parametrize("element, options", [
    ("float32", []), ("float16", []), ("bfloat16", []), ("float16", ["--dtype", "float16"])])
def test_product_has_the_weight_in_the_type_of_a(element, options, tmp_path):
    """MatMulPacked has no kernel for processors: its definition alone."""
    proto, dense = packed_product("Q8_0", element=element, k=64)
    plain, report = convert(save(proto, tmp_path / "in.onnx"), "--require-float", *options)
    casts = ["Cast"] if options else []
    assert op_types(plain) == [*casts, "CastLike", "Transpose", "MatMul"]
    weight = numpy_helper.to_array(plain.graph.initializer[0])
    assert weight.tobytes() == dense.astype(weight.dtype).tobytes()
    assert [s["replaced_by"] for s in report["stripped"]] == ["CastLike, Transpose, MatMul"]
    # Rows of the identity give the weight as MatMul reads it.
    kind = FLOATS[element]
    [found] = ReferenceEvaluator(plain).run(None, {"a": np.eye(64).astype(kind)})
    assert np.array_equal(found.astype("f4"), dense.astype(kind).astype("f4").T)
    if element != "bfloat16":  # which has no MatMul on processors
        [found] = session(tmp_path / "out.onnx").run(None, {"a": np.eye(64).astype(kind)})
        assert np.array_equal(found, dense.astype(kind).T)


def test_a_table_that_is_also_a_product_is_read_twice(tmp_path):
    """As in models whose last layer has the weight of the embedding."""
    table, dense = packed_table("Q6_K", rows=6, output="float16")
    product, _ = packed_product("Q6_K")
    product.graph.node[0].input[:] = ["y", "data"]
    product.graph.node[0].output[0] = "z"
    table.graph.node.append(product.graph.node[0])
    table.graph.output.append(value("z", "float16", ["k", 6]))
    plain, report = convert(save(table, tmp_path / "in.onnx"), "--require-float")
    assert op_types(plain) == ["Gather", "CastLike", "Transpose", "MatMul"]
    assert {f["output_type"] for f in report["folded"]} == {"float16", "float32"}
    assert report["totals"]["quantized_bytes"] == len(table.graph.initializer[0].raw_data)


STAYS = {
    "plain": (packed_table, dict(packed_type=1),
              "packed_type: F16, number 1, has plain numbers, not blocks"),
    "removed": (packed_table, dict(packed_type=4),
                "packed_type: Q4_2, number 4, was removed from GGUF; no tool reads it"),
    "unknown": (packed_table, dict(packed_type=99), "packed_type: 99 is no type of GGUF"),
    "columns": (packed_table, dict(K=0), "K: 0 is no number of columns"),
    "no columns of blocks": (packed_table, dict(K=40), (
        "shape: rows of 40 in [5, 40] are no multiple of the 32 elements of a Q4_0 block")),
    "other bytes": (packed_table, dict(K=64), "data: uint8[5, 144] where [5, 36] is needed"),
    "many columns": (packed_table, dict(K=2**63 - 32), (
        "shape [5, 9223372036854775776] has more than 2^63 - 1 elements")),
    "output": (packed_table, dict(output_dtype=11),
               "output_dtype: 11 is no float type of results"),
    "rows": (packed_product, dict(N=5), "b: uint8[6, 144] where [5, 144] is needed"),
    "no rows": (packed_product, dict(N=0), "N 0 and K 256 are not the sizes of a matrix"),
    "activation": (packed_product, dict(activation_type="silu"),
                   "activation_type: silu, and only none is read"),
    "second scale": (packed_product, dict(kind="NVFP4", more="s"), (
        "global_scale multiplies sums before they are rounded, which no float node does")),
}


@pytest.mark.parametrize("case", STAYS)
def test_operator_that_is_not_sound_stays_with_a_reason(case, tmp_path):
    make, options, reason = STAYS[case]
    proto, _ = make(**options)
    if "more" in options:
        proto.graph.initializer.append(numpy_helper.from_array(np.float32(2), "s"))
    source = save(proto, tmp_path / "in.onnx")
    report = json.loads(dequant("convert", source, "-o", tmp_path / "o.onnx", "--json").stdout)
    assert list(reasons(report).values()) == [reason]
    assert (tmp_path / "o.onnx").read_bytes() == source.read_bytes()
    dequant("convert", source, "-o", tmp_path / "p.onnx", "--require-float", code=4)


@pytest.mark.parametrize("change, shown", [
    (lambda stored: stored.reshape(-1), "uint8[720]"),
    (lambda stored: stored.view("i1"), "int8[5, 144]"),
    (lambda stored: stored[:0], "uint8[0, 144]")])
def test_bytes_that_are_no_matrix_stay(change, shown, tmp_path):
    proto, _ = packed_table()
    [data] = proto.graph.initializer
    data.CopyFrom(numpy_helper.from_array(change(numpy_helper.to_array(data)), "data"))
    source = save(proto, tmp_path / "in.onnx")
    report = json.loads(dequant("convert", source, "-o", tmp_path / "o.onnx", "--json").stdout)
    assert reasons(report) == {"g": f"data: {shown} is no matrix of bytes"}


def test_activation_that_is_none_is_read(tmp_path):
    proto, dense = packed_product(activation_type="none")
    plain, _ = convert(save(proto, tmp_path / "in.onnx"), "--require-float")
    assert numpy_helper.to_array(plain.graph.initializer[0]).tobytes() == dense.tobytes()


@pytest.mark.parametrize("opset, make, reason", [
    (12, packed_table, "its Gather needs opset 13; the model imports 12"),
    (14, packed_product, "its CastLike needs opset 15; the model imports 14")])
def test_operator_sets_without_the_float_operators_stay(opset, make, reason, tmp_path):
    options = dict(output="bfloat16") if make is packed_table else {}
    proto, _ = make(**options)
    proto.opset_import[0].version = opset
    source = save(proto, tmp_path / "in.onnx")
    report = json.loads(dequant("convert", source, "-o", tmp_path / "o.onnx", "--json").stdout)
    assert list(reasons(report).values()) == [reason]


def test_nan_is_the_canonical_one(tmp_path):
    """A block whose scale is NaN, among others; ONNX Runtime gives some NaN."""
    stored, dense = blocks_of("Q8_0", 5, 256)
    stored[2, 34:36] = 0x7F
    proto, _ = packed_table("Q8_0")
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(stored, "data"))
    plain, _ = convert(save(proto, tmp_path / "in.onnx"), "--require-float")
    found = numpy_helper.to_array(plain.graph.initializer[0])
    assert (found[2, 32:64].view("u4") == 0x7FC00000).all()
    dense[2, 32:64] = found[2, 32:64]
    assert found.tobytes() == dense.tobytes()
