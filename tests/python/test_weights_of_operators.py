"""`inspect`, `extract`, `verify` and `diff` have the weights of operators that dequantize them
(MatMulNBits, GatherBlockQuantized, MatMulBnb4, GatherPacked, MatMulPacked): with the name, the
shape and the bits that `convert` writes. The operators' definitions give the expected bits."""

import json

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from page_support import Page, page_of
from support import convert, dequant, model, node, save, value
from weight_models import (OPTIONS, PACKED, TABLES, Weight, bnb4, packed_product, packed_table,
                           table)

BNB4 = {"nf4": dict(), "fp4": dict(quant_type=0), "as stored": dict(transposed=0),
        "blocks over rows": dict(k=40), "an odd count": dict(n=3, k=33, block_size=32)}


def nbits(**options):
    weight = Weight(**options)
    return weight.model(), weight.dense


#: A name -> a model, its codes, its float weight.
MODELS = {
    **{f"MatMulNBits, {name}": (nbits, options, "b") for name, options in OPTIONS.items()},
    **{f"GatherBlockQuantized, {name}": (table, options, "data")
       for name, options in TABLES.items()},
    **{f"MatMulBnb4, {name}": (bnb4, options, "b") for name, options in BNB4.items()},
    **{f"GatherPacked, {kind}": (packed_table, dict(kind=kind), "data") for kind in PACKED},
    **{f"GatherPacked, {output}": (packed_table, dict(output=output), "data")
       for output in ("float16", "bfloat16")},
    **{f"MatMulPacked, {kind}": (packed_product, dict(kind=kind), "b")
       for kind in ("Q4_K", "MXFP4", "NVFP4")},
}


def inspect(source, *options):
    return json.loads(dequant("inspect", source, "--json", *options).stdout)


def numbers(array):
    """numpy has no bfloat16; its files have float32 numbers instead."""
    return array.astype("f4") if array.dtype.name == "bfloat16" else array


@pytest.mark.parametrize("name", MODELS)
def test_weight_is_listed_extracted_and_verified(name, tmp_path):
    make, options, codes = MODELS[name]
    proto, dense = make(**options)
    source = save(proto, tmp_path / "in.onnx")
    weight = f"{codes}_dequantized"
    report = inspect(source)
    [found] = report["nodes"]
    [made] = proto.graph.node
    assert (found["node"], found["op_type"], found["domain"]) == (
        made.name, made.op_type, "com.microsoft")
    assert (found["output"], found["x"], found["constant"]) == (weight, codes, True)
    assert (found["shape"], found["output_type"]) == (list(dense.shape), dense.dtype.name)
    exact = dense.astype("f4")
    assert found["values"] == {"min": exact.min(), "max": exact.max(), "nan": 0}
    assert report["other_constants"] == []

    dequant("extract", source, weight, "-o", tmp_path / "w.npy")
    assert np.load(tmp_path / "w.npy").tobytes() == numbers(dense).tobytes()
    assert np.load(tmp_path / "w.npy").shape == dense.shape

    _, converted = convert(source, "--require-float")
    [folded] = converted["folded"]
    for key in ("shape", "granularity", "axis", "block_size", "bytes", "float_bytes"):
        assert folded[key] == found[key], key
    assert folded["constant"] == weight
    bias = "bias" in [t.name for t in proto.graph.initializer]
    said = dequant("verify", source, tmp_path / "out.onnx").stdout
    assert f"{1 + bias} tensors compared (1 dequantized" in said and "0 wrong, 0 missing" in said
    assert f"{1 + bias} of {1 + bias} tensors identical, 0 not compared, 0 only in" in \
        dequant("diff", source, tmp_path / "out.onnx").stdout


@pytest.mark.parametrize("name", ["MatMulNBits, 8 bits, packed", "MatMulBnb4, nf4",
                                  "GatherBlockQuantized, 4 bits, zero points"])
def test_verify_finds_a_weight_that_differs(name, tmp_path):
    make, options, codes = MODELS[name]
    source = save(make(**options)[0], tmp_path / "in.onnx")
    plain, _ = convert(source)
    [weight] = [t for t in plain.graph.initializer if t.name == f"{codes}_dequantized"]
    changed = bytearray(weight.raw_data)
    changed[-1] ^= 1
    weight.raw_data = bytes(changed)
    onnx.save(plain, tmp_path / "other.onnx")
    said = dequant("verify", source, tmp_path / "other.onnx", code=1).stdout
    assert "1 wrong" in said and f"{codes}_dequantized" in said
    del plain.graph.initializer[:]
    onnx.save(plain, tmp_path / "none.onnx")
    assert "1 missing" in dequant("verify", source, tmp_path / "none.onnx", code=1).stdout


def test_verify_compares_in_the_type_of_the_float_model(tmp_path):
    source = save(nbits(zero_points="packed")[0], tmp_path / "in.onnx")
    convert(source, "--dtype", "bfloat16")
    assert "1 right" in dequant("verify", source, tmp_path / "out.onnx").stdout


def test_raw_codes_are_the_stored_ones(tmp_path):
    for name in ("MatMulNBits, default zero point", "MatMulBnb4, nf4"):
        make, options, codes = MODELS[name]
        proto, _ = make(**options)
        source = save(proto, tmp_path / "in.onnx")
        dequant("extract", source, codes, "--raw", "-o", tmp_path / "codes.npy", "--force")
        [stored] = [numpy_helper.to_array(t) for t in proto.graph.initializer if t.name == codes]
        assert np.array_equal(np.load(tmp_path / "codes.npy"), stored)


def test_raw_codes_of_bytes_are_codes_one_by_one(tmp_path):
    proto, dense = table(zero_points=True)
    source = save(proto, tmp_path / "in.onnx")
    dequant("extract", source, "data", "--raw", "-o", tmp_path / "codes.npy")
    codes = np.load(tmp_path / "codes.npy")
    [stored] = [numpy_helper.to_array(t) for t in proto.graph.initializer if t.name == "data"]
    assert codes.shape == dense.shape
    assert np.array_equal(codes[:, ::2], stored & 15) and np.array_equal(codes[:, 1::2],
                                                                         stored >> 4)


def test_zero_points_that_fill_up_bytes_do_not_count(tmp_path):
    """Three blocks in a row: the fourth code of its two bytes belongs to no block."""
    weight = Weight(zero_points="packed")
    weight.tensors["zeros"] = np.full([6, 2], 0x55, "u1")
    weight.tensors["zeros"][:, 1] = 0xE6
    [found] = inspect(save(weight.model(), tmp_path / "in.onnx"))["nodes"]
    assert found["zero_point"] == {"min": 5, "max": 6, "nan": 0}


def test_page_counts_only_codes_that_elements_have(tmp_path):
    """K is no multiple of the block: the rows of B end with codes of no element."""
    weight = Weight(K=20, N=4, bits=8)
    b = weight.tensors["b"].reshape(4, 32)
    b[:, :20] = 100
    b[0, 3] = 101
    b[:, 20:] = 200
    source = save(weight.model(), tmp_path / "in.onnx")
    row = Page(page_of(source)).tensor("b_dequantized")
    assert row["Codes used"][1] == "2 of 256"
    assert "groups of 16 on axis 0" in " ".join(text for _, text in row.values())


@pytest.mark.parametrize("name", MODELS)
def test_page_has_a_row_for_the_weight(name, tmp_path):
    make, options, codes = MODELS[name]
    proto, dense = make(**options)
    row = Page(page_of(save(proto, tmp_path / "in.onnx"))).tensor(f"{codes}_dequantized")
    texts = [text for _, text in row.values()]
    assert f"[{', '.join(map(str, dense.shape))}]" in texts
    assert any(proto.graph.node[0].domain in text for text in texts)


def test_scales_and_zero_points_are_no_float_tensors(tmp_path):
    """But a bias is one, and so is a scale that another node reads too."""
    proto, _ = nbits(zero_points="float", bias=True)
    source = save(proto, tmp_path / "in.onnx")
    plain, _ = convert(source)
    assert "2 of 2 tensors identical" in dequant("diff", source, tmp_path / "out.onnx").stdout
    proto.graph.node.append(node("Identity", "scales", "again"))
    proto.graph.output.append(value("again", shape=[6, 3]))
    proto.graph.node.append(node("Neg", "scales", "more"))
    proto.graph.output.append(value("more", shape=[6, 3]))
    source = save(proto, tmp_path / "more.onnx")
    plain, _ = convert(source, "--force")
    assert "scales" in [t.name for t in plain.graph.initializer]
    assert "3 of 3 tensors identical" in dequant("diff", source, tmp_path / "out.onnx").stdout


def test_weight_has_the_name_that_the_quantizer_took_from_it(tmp_path):
    proto, dense = nbits()
    for tensor in proto.graph.initializer:
        tensor.name = {"b": "fc1.weight_Q4"}.get(tensor.name, tensor.name)
    proto.graph.node[0].input[1] = "fc1.weight_Q4"
    source = save(proto, tmp_path / "in.onnx")
    assert [n["output"] for n in inspect(source)["nodes"]] == ["fc1.weight"]
    for name in ("fc1.weight", "fc1.weight_Q4", "m"):
        dequant("extract", source, name, "-o", tmp_path / "w.npy", "--force")
        assert np.load(tmp_path / "w.npy").tobytes() == dense.tobytes()
    floats = model([node("MatMul", "a fc1.weight", "y")], [value("a", shape=["n", 40])],
                   [value("y", shape=["n", 6])], [numpy_helper.from_array(dense, "fc1.weight")])
    save(floats, tmp_path / "float.onnx")
    assert "1 of 1 tensors identical" in dequant("diff", tmp_path / "float.onnx", source).stdout


def test_products_with_one_weight_have_one_tensor_as_convert_writes_it(tmp_path):
    weight = Weight(zero_points="packed")
    proto = weight.model()
    again = node("MatMulNBits", "a b scales zeros", "z", "again", "com.microsoft",
                 **weight.attributes)
    proto.graph.node.append(again)
    other = node("MatMulNBits", "a b scales", "o", "other", "com.microsoft", **weight.attributes)
    proto.graph.node.append(other)
    proto.graph.output.extend([value("z", shape=["n", 6]), value("o", shape=["n", 6])])
    source = save(proto, tmp_path / "in.onnx")
    report = inspect(source)
    names = ["b_dequantized", "b_dequantized_1"]
    assert [(n["output"], n["node"]) for n in report["nodes"]] == list(zip(names, ["m", "other"]))
    assert report["totals"]["bytes"] == report["nodes"][0]["bytes"]  # each tensor once
    _, converted = convert(source)
    assert [f["constant"] for f in converted["folded"]] == names
    assert "2 right, 0 wrong" in dequant("verify", source, tmp_path / "out.onnx").stdout


def test_two_tables_of_one_weight_are_measured_apart(tmp_path):
    """The tables of FP4 and NF4 are the operator's own: no tensor of the model tells them apart."""
    proto, nf4 = bnb4(n=64, k=128)
    node_fp4 = proto.graph.node.add()
    node_fp4.CopyFrom(proto.graph.node[0])
    node_fp4.name, node_fp4.output[0] = "fp4", "z"
    next(a for a in node_fp4.attribute if a.name == "quant_type").i = 0
    proto.graph.output.append(value("z", shape=["m", 64]))
    _, fp4 = bnb4(n=64, k=128, quant_type=0)
    found = [n["values"] for n in inspect(save(proto, tmp_path / "in.onnx"))["nodes"]]
    assert found == [{"min": w.min(), "max": w.max(), "nan": 0} for w in (nf4, fp4)]


def test_operator_that_stays_is_listed_with_the_reason(tmp_path):
    weight = Weight()
    weight.attributes["block_size"] = 24
    source = save(weight.model(), tmp_path / "in.onnx")
    reason = "block_size: 24 is not a power of 2 from 16 on"
    report = inspect(source)
    assert report["nodes"] == [{
        "node": "m", "op_type": "MatMulNBits", "domain": "com.microsoft", "graph": "",
        "output": "y", "x": "b", "constant": False, "reason": reason}]
    assert report["other_constants"] == []
    said = dequant("extract", source, "m", "-o", tmp_path / "w.npy", code=2).stderr
    assert f"m: it stays quantized: {reason}" in said
    text = dequant("inspect", source).stdout
    assert "Other dequantizations" in text and "1 dequantizations, 0 of constants" in text


def test_large_weight_in_little_memory(tmp_path):
    weight = Weight(K=4096, N=2048, block_size=128, zero_points="packed")
    source = save(weight.model(), tmp_path / "in.onnx")
    convert(source)
    limit = ("--mem", "8Mi")
    assert "1 right" in dequant("verify", source, tmp_path / "out.onnx", *limit).stdout
    dequant("extract", source, "m", "-o", tmp_path / "w.npy", *limit)
    assert np.load(tmp_path / "w.npy").tobytes() == weight.dense.tobytes()
    assert inspect(source, *limit) == inspect(source)


def same_in_bands(weight, tmp_path):
    """Converted and extracted in little memory, the weight has all of its bytes."""
    source = save(weight.model(), tmp_path / "in.onnx")
    for mib in (8, 13):
        limit = ("--mem", f"{mib}Mi", "--force")
        made, _ = convert(source, *limit)
        [dense] = [numpy_helper.to_array(t) for t in made.graph.initializer]
        assert dense.tobytes() == weight.dense.tobytes()
        dequant("extract", source, "m", "-o", tmp_path / "w.npy", *limit)
        assert np.load(tmp_path / "w.npy").tobytes() == weight.dense.tobytes()
        dequant("plan", source, "-o", tmp_path / "out.onnx", "--task-size", f"{mib}Mi")
    assert "1 right" in dequant("verify", source, tmp_path / "out.onnx", "--mem", "8Mi").stdout


@pytest.mark.parametrize("bits, N, block_size", [(4, 2051, 32), (2, 4099, 16), (4, 2050, 64)])
def test_zero_points_of_a_band_that_began_within_a_byte_cut_outputs_short(bits, N, block_size,
                                                                          tmp_path):
    """The second band of codes was not found, and the outputs ended with the first one."""
    same_in_bands(Weight(K=4096, N=N, bits=bits, block_size=block_size, zero_points="packed"),
                  tmp_path)


@pytest.mark.parametrize("bits, block_size", [(4, 32), (4, 64), (2, 32)])
def test_rows_of_zero_points_that_are_no_whole_words_were_not_cut(bits, block_size, tmp_path):
    """A model's output layer of 201088 rows with 90 zero points each was refused by default."""
    same_in_bands(Weight(K=2880, N=1500 * 8 // bits, bits=bits, block_size=block_size,
                         zero_points="packed"), tmp_path)
