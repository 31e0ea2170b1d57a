"""`dequant convert` turns MatMulNBits into MatMul with a float weight: that of the operator's
definition, (code - zero point) * scale, whatever its layout."""

import json
import logging

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization.matmul_nbits_quantizer import (DefaultWeightOnlyQuantConfig,
                                                             MatMulNBitsQuantizer)

from operators_support import FLOATS, assert_not_worse, least_sqnr
from support import (assert_same_outputs, convert, dequant, model, names, node, op_types, reasons,
                     save, session, value)
from weight_models import OPTIONS, Weight

def only_weight(proto):
    """The constant that the MatMul of a model reads, by onnx."""
    [product] = [n for n in proto.graph.node if n.op_type == "MatMul"]
    [tensor] = [t for t in proto.graph.initializer if t.name == product.input[1]]
    return numpy_helper.to_array(tensor)


@pytest.mark.parametrize("options", OPTIONS)
def test_weight_has_the_bits_of_the_definition(options, tmp_path):
    weight = Weight(**OPTIONS[options])
    plain, report = convert(save(weight.model(), tmp_path / "in.onnx"))
    assert op_types(plain) == ["MatMul"] + ["Add"] * ("bias" in weight.tensors)
    assert [n.name for n in plain.graph.node] == ["m", "m_bias"][:len(plain.graph.node)]
    assert only_weight(plain).tobytes() == weight.dense.tobytes()
    assert report["left"] == [] and report["warnings"] == []
    assert [i.domain for i in plain.opset_import] == [""]
    assert names(plain) == ["bias"] * ("bias" in weight.tensors) + ["b_dequantized"]
    [folded] = report["folded"]
    assert (folded["node"], folded["domain"]) == ("m", "com.microsoft")
    assert (folded["constant"], folded["x"]) == ("b_dequantized", "b")
    assert report["stripped"] == [{"node": "m", "op_type": "MatMulNBits", "replaced_by":
                                   ", ".join(op_types(plain))}]


# ONNX Runtime's kernel for processors has 4 bits only with float zero points or groups, subtracts
# rounded products with float32 zero points, and takes the group of each eighth element for all
# eight.
BY_RUNTIME = [o for o, w in OPTIONS.items() if
              (w.get("zero_points") != "float" or w.get("element") == "float16") and
              "g_idx" not in w and w.get("element") != "bfloat16" and not w.get("flat")]


@pytest.mark.parametrize("options", BY_RUNTIME)
def test_weight_is_what_onnx_runtime_multiplies_by(options, tmp_path):
    """The product with the identity matrix is the weight: all other terms are zeros."""
    weight = Weight(**{**OPTIONS[options], "bias": False})
    source = save(weight.model(), tmp_path / "in.onnx")
    one = np.eye(weight.K, dtype=FLOATS[weight.element])
    [product] = session(source).run(None, {"a": one})
    plain, _ = convert(source)
    assert (only_weight(plain) + 0).tobytes() == (product + 0).tobytes()  # -0 becomes 0 in sums


@pytest.fixture(name="layers")
def _layers(tmp_path):
    """A float model of two layers."""
    rng = np.random.default_rng(2)
    weights = [numpy_helper.from_array(rng.normal(size=[72, 64]).astype("f4"), "fc1.weight"),
               numpy_helper.from_array(rng.normal(size=[64, 20]).astype("f4"), "fc2.weight")]
    proto = model([node("MatMul", "x fc1.weight", "h", "fc1"), node("Relu", "h", "r", "relu"),
                   node("MatMul", "r fc2.weight", "y", "fc2")], [value("x", shape=["n", 72])],
                  [value("y", shape=["n", 20])], weights)
    return save(proto, tmp_path / "float.onnx")


@pytest.mark.parametrize("bits, block_size, symmetric", [
    (2, 16, True), (4, 16, True), (4, 32, False), (8, 32, True), (8, 64, False)])
def test_model_of_onnx_runtimes_quantizer_becomes_float(bits, block_size, symmetric, layers,
                                                        tmp_path):
    logging.disable(logging.INFO)
    config = DefaultWeightOnlyQuantConfig(block_size=block_size, is_symmetric=symmetric, bits=bits)
    quantizer = MatMulNBitsQuantizer(onnx.load(layers), algo_config=config)
    quantizer.process()
    logging.disable(logging.NOTSET)
    source = tmp_path / "in.onnx"
    quantizer.model.save_model_to_file(str(source))
    assert op_types(onnx.load(source)).count("MatMulNBits") == 2
    plain, report = convert(source, "--require-float")
    assert op_types(plain) == ["MatMul", "Relu", "MatMul"]
    assert sorted(names(plain)) == ["fc1.weight", "fc2.weight"]
    assert report["left"] == []
    if bits > 2:
        assert_not_worse(layers, source, tmp_path / "out.onnx")
    assert least_sqnr(source, tmp_path / "out.onnx") > 100


# What the weights are written into.

def test_dtype_puts_a_cast_before_the_product(tmp_path):
    weight = Weight(zero_points="packed", bias=True)
    plain, report = convert(save(weight.model(), tmp_path / "in.onnx"), "--dtype", "float16")
    assert op_types(plain) == ["Cast", "MatMul", "Add"]
    assert [n.name for n in plain.graph.node] == ["m_weight", "m", "m_bias"]
    tensors = {t.name: numpy_helper.to_array(t) for t in plain.graph.initializer}
    assert tensors["b_dequantized_float16"].tobytes() == weight.dense.astype("f2").tobytes()
    assert report["folded"][0]["constant"] == "b_dequantized_float16"
    assert session(tmp_path / "out.onnx").run(None, {"a": np.zeros([1, 40], "f4")})


def test_external_data_and_a_dry_run(tmp_path):
    weight = Weight(K=128, N=32, zero_points="packed")
    source = save(weight.model(), tmp_path / "in.onnx")
    dequant("convert", source, "-o", tmp_path / "out.onnx", "--dry-run")
    assert not (tmp_path / "out.onnx").exists()
    plain, report = convert(source, "--external-data")
    assert report["totals"]["data_file"] == "out.onnx.data"
    found = onnx.external_data_helper
    found.load_external_data_for_model(plain, str(tmp_path))
    assert only_weight(plain).tobytes() == weight.dense.tobytes()


def test_weights_of_branches_and_functions_are_constants_there(tmp_path):
    weight = Weight(K=16, N=3, zero_points="packed", bias=True)
    proto = weight.model()
    [inner] = proto.graph.node
    branch = helper.make_graph([inner], "then", [], [value("y", shape=[2, 3])])
    other = helper.make_graph([node("Constant", "", "z", value=numpy_helper.from_array(
        np.zeros([2, 3], "f4")))], "else", [], [value("z", shape=[2, 3])])
    proto = model([node("If", "c", "out", "if", then_branch=branch, else_branch=other)],
                  [value("c", "uint8", []), value("a", shape=[2, 16])],
                  [value("out", shape=[2, 3])], list(proto.graph.initializer),
                  domains=["com.microsoft"])
    proto.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.BOOL
    source = save(proto, tmp_path / "in.onnx")
    plain, report = convert(source)
    assert report["left"] == []
    inside = next(a.g for a in plain.graph.node[0].attribute if a.name == "then_branch")
    assert [n.op_type for n in inside.node] == ["MatMul", "Add"]
    assert numpy_helper.to_array(inside.initializer[0]).tobytes() == weight.dense.tobytes()
    assert_same_outputs(source, tmp_path / "out.onnx", runs=3)


def test_weights_of_functions_become_constant_nodes(tmp_path):
    weight = Weight(K=16, N=3, zero_points="packed", bias=True)
    constants = [node("Constant", "", n, value=numpy_helper.from_array(t))
                 for n, t in weight.tensors.items()]
    inner = node("MatMulNBits", "a b scales zeros - bias", "y", "m", "com.microsoft",
                 **weight.attributes)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    function = helper.make_function("own", "layer", ["a"], ["y"], [*constants, inner], imports)
    proto = model([node("layer", "x", "out", "call", "own")], [value("x", shape=[2, 16])],
                  [value("out", shape=[2, 3])], functions=[function],
                  domains=["own", "com.microsoft"])
    source = save(proto, tmp_path / "in.onnx")
    plain, report = convert(source)
    assert report["left"] == []
    assert [n.op_type for n in plain.functions[0].node] == ["Constant", "Constant", "MatMul", "Add"]
    assert_same_outputs(source, tmp_path / "out.onnx", runs=3)


def test_before_ir_version_4_the_weight_is_a_constant_node(tmp_path):
    weight = Weight(K=16, N=3)
    proto = weight.model(opset=9, ir_version=3)
    proto.graph.input.extend(helper.make_tensor_value_info(t.name, t.data_type, t.dims)
                             for t in proto.graph.initializer)
    plain, report = convert(save(proto, tmp_path / "in.onnx"), "--assume-const")
    assert report["left"] == []
    assert op_types(plain) == ["Constant", "MatMul"]
    [made] = [n for n in plain.graph.node if n.op_type == "Constant"]
    assert numpy_helper.to_array(made.attribute[0].t).tobytes() == weight.dense.tobytes()
    assert [i.name for i in plain.graph.input] == ["a"]


def test_tensors_that_others_read_stay(tmp_path):
    weight = Weight(K=16, N=3)
    proto = weight.model()
    proto.graph.node.append(node("Identity", "b", "again"))
    proto.graph.output.append(value("again", "uint8", [3, 1, 8]))
    plain, _ = convert(save(proto, tmp_path / "in.onnx"))
    assert names(plain) == ["b", "b_dequantized"]


def test_exclude_leaves_an_operator_by_name(tmp_path):
    weight = Weight()
    source = save(weight.model(), tmp_path / "in.onnx")
    for glob in ("m", "y", "b"):
        left, report = convert(source, "--exclude", glob, to=f"{glob}.onnx")
        assert op_types(left) == ["MatMulNBits"]
        assert reasons(report) == {"m": "not selected by include and exclude"}
        assert (tmp_path / f"{glob}.onnx").read_bytes() == source.read_bytes()


# What stays.

def spoil(**changes):
    """A weight whose attributes or tensors are changed."""
    def apply(weight):
        for name, change in changes.items():
            if name in weight.tensors:
                weight.tensors[name] = change(weight.tensors[name])
            else:
                weight.attributes[name] = change
    return apply


STAYS = {
    **{f"{n} bits": (dict(), spoil(bits=n), f"bits: {n} is not one of 2, 4, 8")
       for n in (1, 3, 5, 6, 7, 9)},
    "block": (dict(), spoil(block_size=24), "block_size: 24 is not a power of 2 from 16 on"),
    "sizes": (dict(), spoil(N=0), "N 0 and K 40 are not the sizes of a matrix"),
    "prepacked": (dict(), spoil(weight_prepacked=1),
                  "weight_prepacked: B has the layout 1 of one device"),
    "b": (dict(), spoil(b=lambda b: b[:, 1:]), "b: uint8[6, 2, 8] where uint8[6, 3, 8] is needed"),
    "scales": (dict(), spoil(scales=lambda s: s[1:]),
               "scales: float32[5, 3] where float32[6, 3] is needed"),
    "zeros": (dict(zero_points="packed"), spoil(zeros=lambda z: z[:, 1:]),
              "zeros: uint8[6, 1] where uint8[6, 2] is needed"),
    "zero type": (dict(zero_points="float"), spoil(zeros=lambda z: z.astype("f2")),
                  "zeros: float16[6, 3] where float32[6, 3] is needed"),
    "groups": (dict(g_idx=True), spoil(g_idx=lambda g: np.where(g == 2, 3, g).astype("i4")),
               "g_idx: 3 is none of the 3 blocks of a row"),
    "negative groups": (dict(g_idx=True), spoil(g_idx=lambda g: -g),
                        "g_idx: -1 is none of the 3 blocks of a row"),
}


@pytest.mark.parametrize("case", STAYS)
def test_operator_that_is_not_sound_stays_with_a_reason(case, tmp_path):
    options, change, reason = STAYS[case]
    weight = Weight(**options)
    change(weight)
    source = save(weight.model(), tmp_path / "in.onnx")
    done = dequant("convert", source, "-o", tmp_path / "out.onnx", "--json")
    report = json.loads(done.stdout)
    told = reasons(report)["m"]
    assert told == reason or case == "negative groups" and told.endswith("3 blocks of a row")
    assert report["warnings"] == ["still quantized: 1 MatMulNBits"]
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()


def test_weight_that_is_computed_stays(tmp_path):
    proto = Weight().model()
    proto.graph.input.append(value("b2", "uint8", [6, 3, 8]))
    proto.graph.node[0].input[1] = "b2"
    _, report = convert(save(proto, tmp_path / "in.onnx"))
    assert reasons(report) == {"m": "b2 is an input of the graph"}


def test_bias_needs_an_add_that_broadcasts(tmp_path):
    source = save(Weight(bias=True).model(opset=6, ir_version=4), tmp_path / "in.onnx")
    report = json.loads(dequant("convert", source, "-o", tmp_path / "o.onnx", "--json").stdout)
    assert reasons(report) == {"m": "its bias needs an Add of opset 7; the model imports 6"}
