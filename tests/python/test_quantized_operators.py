"""A model that stays quantized says so: every quantized operator of ONNX Runtime is told by name,
with one line of warning, and --require-float refuses it."""

import json
import re

import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from arithmetic import codes, floats
from support import (EXAMPLES, TENSORS, constant, convert, dequant, dq, model, node, q, reasons,
                     save, value)

QUANTIZED = "a quantized operator, which dequant does not rewrite"
ARITHMETIC = "its arithmetic is quantized (strip-qdq replaces it)"
# Float without an option, unless what the node has is unsound, as here.
WEIGHTS = ["MatMulNBits", "GatherBlockQuantized", "MatMulBnb4", "GatherPacked", "MatMulPacked"]


def bits(kind):
    """Bits of the elements of "tensor(int8)" and the like; 0 of what is no integer and no small
    float."""
    found = re.fullmatch(r"tensor\(u?(?:int|float)(\d+)\w*\)", kind)
    return int(found[1]) if found else 0


def takes_codes_only(schema):
    """True if some input has only types of at most 8 bits, as codes have."""
    types = {t.type_param_str: list(t.allowed_type_strs) for t in schema.type_constraints}
    inputs = [types.get(i.typeStr, [i.typeStr]) for i in schema.inputs]
    return any(all(0 < bits(kind) <= 8 for kind in kinds) for kinds in inputs)


def seems_quantized(schema):
    return bool(takes_codes_only(schema) or re.search("quantiz", schema.doc or "", re.I) or
                re.search("Quant|Integer|NBits|Bnb|[Ff][Pp]?[48]|Float8|BFP|^Q[A-Z]", schema.name))


# What seems_quantized() finds that is none, and what it does not find.
NOT_QUANTIZED = {
    ("", "ImageDecoder"): "takes the bytes of a file",
    ("", "RoiAlign"): "says that it does not quantize coordinates",
    ("com.microsoft", "EngramGate"): "speaks of a projection that may be quantized",
    ("com.microsoft", "DynamicSparseAttention"): "quantized where its cache has scales",
    ("com.microsoft", "GroupQueryAttention"): "quantized where its cache has scales",
    ("com.microsoft", "MoEGroupRouter"): "speaks of a projection that is not quantized",
    ("com.microsoft", "Snpe"): "holds a model of another runtime, whose types are its own",
}


def schemas():
    newest = {}
    for schema in runtime.get_all_operator_schema():
        key = (schema.domain, schema.name)
        if key not in newest or newest[key].since_version < schema.since_version:
            newest[key] = schema
    return newest


def of_all(keys, tmp_path):
    """The report of a model with one node of each operator; the nodes need not be sound."""
    nodes = [node(name, "in", f"o{i}", f"{domain}:{name}", domain)
             for i, (domain, name) in enumerate(keys)]
    proto = model(nodes, ["in"], ["o0"], domains=sorted({d for d, _ in keys if d}))
    done = dequant("convert", save(proto, tmp_path / "all.onnx"), "-o",
                   tmp_path / "out.onnx", "--json")
    return json.loads(done.stdout), done.stderr


def test_every_quantized_operator_of_onnx_runtime_is_left_by_name(tmp_path):
    """An operator of a newer ONNX Runtime that seems quantized and is not told fails here."""
    known = schemas()
    report, _ = of_all(list(known), tmp_path)
    told = {(left["domain"], left["op_type"]) for left in report["left"]}
    expected = {key for key, schema in known.items() if seems_quantized(schema)} - set(
        NOT_QUANTIZED)
    assert told == expected
    assert {left["reason"] for left in report["left"] if "uantizeLinear" not in
            left["op_type"] and left["op_type"] not in WEIGHTS} == {QUANTIZED, ARITHMETIC}
    assert len(told) > 45 and ("com.microsoft", "MatMulNBits") in told \
        and ("", "QLinearConv") in told


@pytest.mark.parametrize("domain, op_type, told", [
    ("trt.plugins", "TRT_FP8QuantizeLinear", True), ("onnx.brevitas", "Quant", True),
    ("com.vai.quantize", "VitisDequantizeLinear", True), ("com.microsoft", "QLinearFuture", True),
    ("com.microsoft", "GatherNBits", True), ("trt", "TRT_FP4QDQ", True),
    ("qonnx.custom_op.general", "Trunc", True), ("x", "Trunc", False),
    ("qonnx.custom_op.general", "MultiThreshold", True), ("com.vai.quantize", "FixNeuron", True),
    ("com.amd.quark", "BFPFixNeuron", True), ("ai.onnx.ml", "QuantileTransformer", False),
    ("x", "QuantityOf", False), ("com.microsoft", "QuickGelu", False), ("", "Relu", False),
    ("x", "ConvInteger", False)])
def test_operators_of_other_domains_are_told_by_their_names(domain, op_type, told, tmp_path):
    report, _ = of_all([(domain, op_type)], tmp_path)
    assert bool(report["left"]) is told


@pytest.mark.parametrize("op_type, scale", [("GroupQueryAttention", 12), ("PagedAttention", 14),
                                            ("SparsePagedAttention", 19),
                                            ("DynamicSparseAttention", 18)])
def test_attention_is_quantized_where_its_cache_has_scales(op_type, scale, tmp_path):
    names = {i.name: k for k, i in enumerate(schemas()[("com.microsoft", op_type)].inputs)}
    of = ("key_scale", "value_scale") if "key_scale" in names else ("k_scale", "v_scale")
    assert [names[name] for name in of] == [scale, scale + 1]
    for inputs, told in (["in"] * scale, 0), (["in"] * scale + ["in"],
                                              1), (["in"] * scale + ["-", "in"], 1):
        nodes = [node(op_type, " ".join(inputs), "y", "a", "com.microsoft")]
        source = save(model(nodes, ["in"], domains=["com.microsoft"]), tmp_path / "in.onnx")
        report = json.loads(dequant("convert", source, "-o", tmp_path / "o.onnx", "--json",
                                    "-f").stdout)
        assert reasons(report) == \
            {"a": "its cache of keys and values is quantized"} if told else not report["left"]


# A model whose layers are of several kinds: some dequant folds, some stay.

@pytest.fixture(name="mixed")
def _mixed(tmp_path):
    nodes = [dq(), *(node("MatMulFpQ4", "y b s", f"m{i}", f"mat{i}", "com.microsoft", K=3, N=3,
                          bits=4, block_size=16)
                     for i in range(3)),
             node("MulInteger", "c8 c8", "mi", "integers", "com.microsoft")]
    tensors = [*TENSORS, numpy_helper.from_array(codes("uint8", [[[1] * 8]] * 3).array(), "b"),
               floats([1, 1, 1]).tensor("s"), codes("int8", [[1]]).tensor("c8")]
    proto = model(nodes, [], ["m0", "m1", "m2", value("mi", "int32")], tensors,
                  domains=["com.microsoft"])
    return save(proto, tmp_path / "in.onnx")


def test_a_model_that_stays_quantized_is_not_converted_without_a_word(mixed, tmp_path):
    done = dequant("convert", mixed, "-o", tmp_path / "out.onnx", "--json")
    assert done.stderr == "dequant: warning: still quantized: 3 MatMulFpQ4, 1 MulInteger\n"
    report = json.loads(done.stdout)
    assert report["warnings"] == ["still quantized: 3 MatMulFpQ4, 1 MulInteger"]
    assert reasons(report) == {n: QUANTIZED for n in ("mat0", "mat1", "mat2", "integers")}
    assert [left["op_type"] for left in report["left"]] == ["MatMulFpQ4"] * 3 + ["MulInteger"]
    assert report["totals"]["left"] == 4 and report["totals"]["folded"] == 1


def test_people_read_it_in_the_table_too(mixed, tmp_path):
    done = dequant("convert", mixed, "-o", tmp_path / "out.onnx")
    assert "mat2" in done.stdout and QUANTIZED in done.stdout and "4 left" in done.stdout


def test_quiet_keeps_the_warning(mixed, tmp_path):
    done = dequant("convert", mixed, "-o", tmp_path / "out.onnx", "--quiet")
    assert (done.stdout, done.stderr) == ("", "dequant: warning: still quantized: 3 MatMulFpQ4, 1 "
                                              "MulInteger\n")


@pytest.mark.parametrize("options", [[], ["--dry-run"], ["--json"], ["--strip-qdq"]])
def test_require_float_refuses_and_writes_nothing(mixed, options, tmp_path):
    done = dequant("convert", mixed, "-o", tmp_path / "out.onnx", "--require-float",
                   *options, code=4)
    assert "in.onnx: still quantized" in done.stderr \
        and "3 MatMulFpQ4, 1 MulInteger" in done.stderr
    assert done.stdout == "" and [p.name for p in tmp_path.iterdir()] == ["in.onnx"]


def test_require_float_keeps_the_output_that_is_there(mixed, tmp_path):
    (tmp_path / "out.onnx").write_bytes(b"old")
    dequant("convert", mixed, "-o", tmp_path / "out.onnx", "--require-float", "--force", code=4)
    assert (tmp_path / "out.onnx").read_bytes() == b"old"


def test_require_float_counts_pairs_and_names_what_takes_them_off(tmp_path):
    source, target = EXAMPLES / "digits_qdq_int8.onnx", tmp_path / "out.onnx"
    error = dequant("convert", source, "-o", target, "--require-float", code=4).stderr
    assert "9 DequantizeLinear, 9 QuantizeLinear; strip-qdq takes pairs off activations" in error
    dequant("convert", source, "-o", target, "--require-float", "--strip-qdq")
    assert not {"QuantizeLinear", "DequantizeLinear"} & {n.op_type
                                                         for n in onnx.load(target).graph.node}
    dequant("convert", EXAMPLES / "digits_qdq_int4.onnx", "-o", tmp_path / "int4.onnx",
            "--require-float")


def test_require_float_counts_what_include_and_exclude_leave(tmp_path):
    source = EXAMPLES / "digits_qdq_int4.onnx"
    error = dequant("convert", source, "-o", tmp_path / "o", "--require-float", "--exclude", "fc1*",
                    code=4).stderr
    assert "1 DequantizeLinear" in error


def test_a_quantizer_alone_is_left_too(tmp_path):
    proto = model([q("in scale zero", "y", "alone")], ["in"], [value("y", "int8")], TENSORS)
    _, report = convert(save(proto, tmp_path / "in.onnx"))
    assert reasons(report) == {"alone": "it quantizes an activation (strip-qdq takes pairs off)"}
    _, report = convert(tmp_path / "in.onnx", "--exclude", "alone", "--force")
    assert reasons(report) == {"alone": "not selected by include and exclude"}


def test_quantized_nodes_of_bodies_and_functions_are_told(tmp_path):
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    both = {b: helper.make_graph([node("MatMulInteger", "x8 x8", f"{b}_i", b),
                                  node("Cast", f"{b}_i", b, to=1)], b,
                                 [], [value(b)]) for b in ("then", "else")}
    nodes = [node("If", "flag", "out", then_branch=both["then"], else_branch=both["else"]),
             node("FakeQuant", "out", "y", "call", "local")]
    body = helper.make_function("local", "FakeQuant", ["a"], ["b"], [
        constant("s", floats(0.5)), q("a s", "aq", "inner q"), dq("aq s", "b", "inner dq")],
        [helper.make_opsetid("", 21)])
    proto = model(nodes, [flag], ["y"], [codes("int8", [[1]]).tensor("x8")], functions=[body],
                  domains=["local"])
    report = json.loads(dequant("convert", save(proto, tmp_path / "in.onnx"), "-o", tmp_path / "o",
                                "--json").stdout)
    # The call is none: what its function does is told where it stands.
    assert {left["node"] for left in report["left"]} == {"then", "else", "inner q", "inner dq"}
    assert report["warnings"] == ["still quantized: 2 MatMulInteger"]


def test_many_kinds_of_operators_are_one_line(tmp_path):
    keys = [("x", f"Quant{i:03}\n") for i in range(300)]
    report, error = of_all(keys, tmp_path)
    assert len(report["left"]) == 300
    assert error.count("\n") == 1 and "and 280 more operators" in error and "Quant019\\x0a" in error


@pytest.mark.parametrize("element", ["float8e4m3fn", "float4e2m1", "int4", "uint2"])
@pytest.mark.parametrize("moved", [[], ["Identity", "Transpose"]], ids=["stored", "moved"])
@pytest.mark.parametrize("as_node", [False, True], ids=["initializer", "Constant"])
def test_numbers_made_of_codes_by_a_cast_passed_as_float(element, moved, as_node, tmp_path):
    """So exporters write weights that no DequantizeLinear has."""
    weight = codes(element, [[0, 1], [1, 0]])
    nodes = [constant("w0", weight)] if as_node else []
    nodes += [node(op, f"w{i}", f"w{i + 1}") for i, op in enumerate(moved)]
    nodes += [node("Cast", f"w{len(moved)}", "f", name="c", to=onnx.TensorProto.FLOAT),
              node("Mul", "f s", "y")]
    tensors = ([] if as_node else [weight.tensor("w0")]) + [floats(0.5).tensor("s")]
    source = save(model(nodes, [], [value("y", "float32", [2, 2])], tensors, opset=25,
                        ir_version=13), tmp_path / "in.onnx")
    report = json.loads(dequant("convert", source, "-o", tmp_path / "out.onnx", "--json").stdout)
    assert reasons(report) == {
        "c": f"it makes numbers of codes of type {element} without DequantizeLinear"}
    error = dequant("convert", source, "-o", tmp_path / "not.onnx", "--require-float",
                    code=4).stderr
    assert "1 Cast" in error and not (tmp_path / "not.onnx").exists()


def test_a_cast_of_integers_is_no_quantized_operator(tmp_path):
    nodes = [node("Cast", "w", "y", to=onnx.TensorProto.FLOAT)]
    source = save(model(nodes, [], [value("y", "float32", [2])],
                        [codes("int8", [1, 2]).tensor("w")]), tmp_path / "in.onnx")
    dequant("convert", source, "-o", tmp_path / "out.onnx", "--require-float")
