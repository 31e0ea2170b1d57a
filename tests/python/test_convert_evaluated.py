"""`dequant convert` computes constants that exporters leave behind nodes: x, scale and zero point
through nodes that move numbers, convert their type, or multiply them once. What the converted
model has is what ONNX Runtime, or ONNX's reference, computes from the original."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from arithmetic import assert_same, codes, codes_of, floats, onnx_code
from support import (convert, dequant, dq, initializer, model, names, node, op_types, q, reasons,
                     save, session, value)

RNG = np.random.default_rng(5)
WIDE = codes("int8", RNG.integers(0, 256, [2, 3, 4]))
SCALE, ZERO = floats(0.3), codes("int8", 5)
FIXED = [SCALE.tensor("scale"), ZERO.tensor("zero")]
CAST = TensorProto


def ints(name, numbers, kind=np.int64):
    return numpy_helper.from_array(np.array(numbers, kind), name)


def doubles(name, numbers):
    return numpy_helper.from_array(np.array(numbers, np.float64), name)


def computed(proto):
    """The model's output, by ONNX Runtime or, where that has no kernel, by the reference."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        runtime = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    except Exception:  # noqa: BLE001  ONNX Runtime's exceptions have no common base of their own
        return ReferenceEvaluator(proto).run(None, {})[0]
    return runtime.run(None, {})[0]


def with_shape(proto, shape):
    """The model, whose output has this shape."""
    proto.graph.output[0].CopyFrom(
        helper.make_tensor_value_info("y", proto.graph.output[0].type.tensor_type.elem_type, shape))
    return proto


def folds(nodes, tensors, tmp_path, *options, opset=21, kind="float32"):
    """All nodes become one constant y, with the bits of those who run the model."""
    outline = model(nodes, [], [value("y", kind, None)], tensors, opset=opset,
                    ir_version=13 if opset > 21 else 10)
    expected = computed(outline)
    proto = with_shape(outline, expected.shape)
    converted, report = convert(save(proto, tmp_path / "in.onnx"), *options)
    assert (op_types(converted), names(converted), report["left"]) == ([], ["y"], [])
    made = initializer(converted, "y")
    assert made.codes.shape == expected.shape
    assert_same(made, codes_of(expected))
    return report


def stays(nodes, tensors, reason, tmp_path, opset=21):
    proto = model(nodes, [], [value("y", shape=None)], tensors, opset=opset, ir_version=10)
    source = save(proto, tmp_path / "in.onnx")
    target = tmp_path / "out.onnx"
    report = json.loads(dequant("convert", source, "-o", target, "--json").stdout)
    assert reasons(report) == {"dq": reason}
    assert target.read_bytes() == source.read_bytes()


# x, moved.

MOVES = {
    "Transpose": (node("Transpose", "w", "x", perm=[2, 0, 1]), []),
    "Transpose without perm": (node("Transpose", "w", "x"), []),
    "Flatten": (node("Flatten", "w", "x"), []),
    "Flatten from the back": (node("Flatten", "w", "x", axis=-1), []),
    "Flatten all": (node("Flatten", "w", "x", axis=0), []),
    "Reshape": (node("Reshape", "w shape", "x"), [ints("shape", [-1, 6])]),
    "Reshape with 0 and -1": (node("Reshape", "w shape", "x"), [ints("shape", [0, -1])]),
    "Unsqueeze": (node("Unsqueeze", "w axes", "x"), [ints("axes", [0, -1])]),
    "Unsqueeze in any order": (node("Unsqueeze", "w axes", "x"), [ints("axes", [3, 1])]),
    "Slice": (node("Slice", "w starts ends", "x"), [ints("starts", [0, 1]), ints("ends", [2, 9])]),
    "Slice of axes": (node("Slice", "w starts ends axes", "x"),
                      [ints("starts", [-2]), ints("ends", [2**63 - 1]), ints("axes", [-1])]),
    "Slice in steps": (node("Slice", "w starts ends axes steps", "x"),
                       [ints("starts", [0, 0]), ints("ends", [4, 3]), ints("axes", [2, 1]),
                        ints("steps", [2, 2])]),
    "Slice backwards": (node("Slice", "w starts ends axes steps", "x"),
                        [ints("starts", [-1, 9]), ints("ends", [-(2**63), 0]),
                         ints("axes", [2, 1]), ints("steps", [-1, -2])]),
    "Slice of nothing": (node("Slice", "w starts ends axes", "x"),
                         [ints("starts", [2]), ints("ends", [1]), ints("axes", [1])]),
    "Slice with int32": (node("Slice", "w starts ends", "x"),
                         [ints("starts", [1], np.int32), ints("ends", [2], np.int32)]),
    "Concat": (node("Concat", "w w v", "x", axis=1),
               [codes("int8", RNG.integers(0, 256, [2, 1, 4])).tensor("v")]),
    "Concat from the back": (node("Concat", "w w", "x", axis=-1), []),
    "Gather": (node("Gather", "w indices", "x", axis=1), [ints("indices", [[2, 0], [-1, -3]])]),
    "Gather one": (node("Gather", "w indices", "x", axis=2), [ints("indices", 3)]),
    "Gather with int32": (node("Gather", "w indices", "x"), [ints("indices", [1, 1, 0], np.int32)]),
    "Cast": (node("Cast", "w", "x", to=CAST.INT16), []),
    "Clip": (node("Clip", "w low high", "x"),
             [codes("int8", -100).tensor("low"), codes("int8", 90).tensor("high")]),
    "Clip below": (node("Clip", "w low", "x"), [codes("int8", [-7]).tensor("low")]),
    "Clip above": (node("Clip", "w - high", "x"), [codes("int8", 90).tensor("high")]),
    "Clip without limits": (node("Clip", "w", "x"), []),
    "Clip with a lower limit above the upper one": (
        node("Clip", "w low high", "x"),
        [codes("int8", 90).tensor("low"), codes("int8", -100).tensor("high")]),
}


def zero_for(name):
    return [SCALE.tensor("scale")] if name == "Cast" else FIXED


@pytest.mark.parametrize("name", MOVES)
def test_x_is_moved(name, tmp_path):
    move, more = MOVES[name]
    linear = dq("x scale") if name == "Cast" else dq()
    folds([move, linear], [WIDE.tensor("w"), *zero_for(name), *more], tmp_path)


@pytest.mark.parametrize("element", ["uint4", "int4", "uint2", "uint16", "int32", "float8e4m3fn"])
@pytest.mark.parametrize("name", ["Transpose", "Slice in steps", "Concat from the back", "Gather",
                                  "Reshape", "Slice"])
def test_x_of_every_width_is_moved(name, element, tmp_path):
    """Elements of 2 and 4 bits start within bytes."""
    move, more = MOVES[name]
    top = 4 if element == "uint2" else 16 if "4" in element and "8" not in element else 100
    w = codes(element, RNG.integers(0, top, [2, 3, 5]))
    folds([move, dq("x scale")], [w.tensor("w"), SCALE.tensor("scale"), *more], tmp_path,
          opset=25 if "2" in element and "32" not in element else 21)


@pytest.mark.parametrize("element", ["int8", "uint8", "int16", "uint16", "int32"])
def test_codes_of_every_integer_type_are_clipped(element, tmp_path):
    """As Clip is defined since opset 12, by numpy: ONNX Runtime has none of 16 bits."""
    rng = np.random.default_rng(9)
    w = codes(element, rng.integers(0, 2**31, [40, 3]))
    low, high = np.sort(codes(element, rng.integers(0, 2**31, 2)).values())
    tensors = [w.tensor("w"), floats(1).tensor("scale"),
               numpy_helper.from_array(np.array(low, element), "low"),
               numpy_helper.from_array(np.array(high, element), "high")]
    proto = model([node("Clip", "w low high", "x"), dq("x scale")], [], [value("y", shape=[40, 3])],
                  tensors)
    converted, _ = convert(save(proto, tmp_path / "in.onnx"))
    np.testing.assert_array_equal(initializer(converted, "y").values(),
                                  np.clip(w.values(), low, high).astype("f4"))


def test_zero_point_of_int64_is_clipped_before_its_cast(tmp_path):
    nodes = [node("Clip", "z64 low high", "z"), node("Cast", "z", "zero", to=CAST.INT8), dq()]
    folds(nodes, [WIDE.tensor("x"), SCALE.tensor("scale"), ints("z64", 300), ints("low", -128),
                  ints("high", 127)], tmp_path)


def test_squeeze_of_ones(tmp_path):
    w = codes("int8", RNG.integers(0, 256, [1, 3, 1, 4]))
    for i, (squeeze, more) in enumerate([
            (node("Squeeze", "w", "x"), []),
            (node("Squeeze", "w axes", "x"), [ints("axes", [-2])])]):
        folder = tmp_path / str(i)
        folder.mkdir()
        folds([squeeze, dq()], [w.tensor("w"), *FIXED, *more], folder)


def test_attributes_of_before_opset_13(tmp_path):
    w = codes("int8", RNG.integers(0, 256, [1, 3, 1, 4]))
    nodes = [node("Squeeze", "w", "v", axes=[0]), node("Unsqueeze", "v", "x", axes=[3, 0]),
             dq("x scale")]
    folds(nodes, [w.tensor("w"), SCALE.tensor("scale")], tmp_path, opset=12)


def test_large_weight_through_a_transpose(tmp_path):
    """Read in many chunks, per axis, and more than once."""
    w = codes("int8", RNG.integers(0, 256, [1500, 700]))
    scale = floats(RNG.uniform(0.01, 1, 1500))
    nodes = [node("Transpose", "w", "x", perm=[1, 0]), dq("x scale", axis=1)]
    report = folds(nodes, [w.tensor("w"), scale.tensor("scale")], tmp_path, "--external-data")
    [folded] = report["folded"]
    assert (folded["bytes"], folded["shape"], folded["axis"]) == (1500 * 700 + 1500 * 4,
                                                                  [700, 1500], 1)
    assert report["totals"]["removed_nodes"] == 2


def test_chain_of_moves_and_pairs(tmp_path):
    """A quantized constant behind one of quantization-aware training."""
    weight = floats(RNG.normal(size=[6, 4]))
    nodes = [node("Transpose", "w", "wt", perm=[1, 0]), q("wt s z", "wq"),
             node("Reshape", "wq shape", "wr"), node("Cast", "wr", "wc", to=CAST.INT8),
             dq("wc s z")]
    folds(nodes, [weight.tensor("w"), floats(0.05).tensor("s"), codes("int8", 3).tensor("z"),
                  ints("shape", [2, 3, 4])], tmp_path)


# Scale and zero point.

def test_zero_point_and_scale_as_torch_exports_them(tmp_path):
    """An int64 and a double, each cast."""
    nodes = [node("Cast", "s64", "scale", to=CAST.FLOAT), node("Cast", "z64", "zero", to=CAST.INT8),
             dq()]
    folds(nodes, [WIDE.tensor("x"), doubles("s64", 0.1), ints("z64", -7)], tmp_path)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_typed_fields_of_wide_types(kind, tmp_path):
    """int64_data and double_data."""
    tensor = helper.make_tensor("wide", helper.np_dtype_to_tensor_dtype(np.dtype(kind)), [3],
                                [1, 2, 3])
    assert not tensor.raw_data
    w = codes("int8", RNG.integers(0, 256, [2, 3, 2]))
    folds([node("Cast", "wide", "scale", to=CAST.FLOAT), dq("x scale")],
          [w.tensor("x"), tensor], tmp_path)


def test_wide_types_in_external_data(tmp_path):
    tensor = doubles("wide", [0.1, 0.2, 0.3])
    (tmp_path / "wide.bin").write_bytes(tensor.raw_data)
    w = codes("int8", RNG.integers(0, 256, [2, 3, 2]))
    nodes = [node("Cast", "wide", "scale", to=CAST.FLOAT), dq("x scale")]
    expected = computed(model(nodes, [], [value("y", shape=None)], [w.tensor("x"), tensor]))
    onnx.external_data_helper.set_external_data(tensor, "wide.bin")
    tensor.ClearField("raw_data")
    source = save(model(nodes, [], [value("y", shape=[2, 3, 2])], [w.tensor("x"), tensor]),
                  tmp_path / "in.onnx")
    convert(source)
    data = onnx.load(tmp_path / "out.onnx")
    assert_same(initializer(data, "y"), codes_of(expected))


@pytest.mark.parametrize("nodes, tensors", [
    ([node("Mul", "a b", "scale")], [floats(0.1).tensor("a"), floats(0.7).tensor("b")]),
    ([node("Div", "a b", "scale")], [floats(0.1).tensor("a"), floats(127).tensor("b")]),
    ([node("Div", "a b", "scale")], [floats(2).tensor("a"), floats(0).tensor("b")]),
    ([node("Mul", "a b", "scale")], [floats([0.1, 0.2, 0.3]).tensor("a"), floats(0.7).tensor("b")]),
    ([node("Unsqueeze", "a axes", "b"), node("Squeeze", "b", "scale")],
     [floats([0.1, 0.2, 0.3]).tensor("a"), ints("axes", [1])]),
    ([node("Concat", "a a b", "scale", axis=0)],
     [floats([0.1]).tensor("a"), floats([0.7]).tensor("b")]),
    ([node("Slice", "a from to", "scale")],
     [floats([0.1, 0.2, 0.3, 0.4]).tensor("a"), ints("from", [1]), ints("to", [4])]),
    ([node("Gather", "a i", "scale")], [floats([0.1, 0.2, 0.4]).tensor("a"), ints("i", [2, 0, 0])]),
    ([node("ConstantOfShape", "shape", "scale", value=floats([0.7]).tensor("v"))],
     [ints("shape", [3])]),
    ([node("ConstantOfShape", "shape", "scale", value=floats([0.7]).tensor("v"))],
     [ints("shape", np.zeros(0))]),
    ([node("Constant", "", "shape", value_ints=[3]),
      node("ConstantOfShape", "shape", "scale", value=floats([0.7]).tensor("v"))], []),
    ([node("Constant", "", "i", value_int=1), node("Gather", "a i", "scale")],
     [floats([0.1, 0.2]).tensor("a")]),
    ([node("Cast", "a", "b", to=CAST.FLOAT), node("CastLike", "b like", "scale")],
     [floats([0.1, 0.2, 0.3], "float16").tensor("a"), floats(1).tensor("like")]),
    ([node("Cast", "a", "scale", to=CAST.FLOAT)],
     [numpy_helper.from_array(np.array([7, 2**24 + 1, 2**60 + 2**35 + 1]), "a")])])
def test_scale_is_computed(nodes, tensors, tmp_path):
    w = codes("int8", RNG.integers(0, 256, [2, 3, 2]))
    folds([*nodes, dq("x scale")], [w.tensor("x"), *tensors], tmp_path)


@pytest.mark.parametrize("operation", ["Mul", "Div"])
@pytest.mark.parametrize("element", ["float32", "float16"])
def test_products_and_quotients_are_rounded_once(operation, element, tmp_path):
    """Subnormal and infinite ones, too."""
    bits = {"float32": 2**32, "float16": 2**16}[element]
    a, b = (codes(element, RNG.integers(0, bits, [4000])) for _ in "ab")
    for c in (a, b):
        c.codes[~np.isfinite(c.values())] = 1
    nodes = [node(operation, "a b", "scale"), dq("x scale", axis=0)]
    folds(nodes, [codes("int8", np.ones(4000)).tensor("x"), a.tensor("a"), b.tensor("b")],
          tmp_path, kind=element)


@pytest.mark.parametrize("source, to", [
    ("float32", "float16"), ("float16", "float32"), ("int32", "float32"), ("uint8", "float16"),
    ("float64", "float32"), ("int64", "float32"), ("float8e4m3fn", "float32")])
def test_casts_of_scales_are_rounded_once(source, to, tmp_path):
    rng = np.random.default_rng(7)
    if source in ("float64", "int64"):
        kind = {"float64": np.float64, "int64": np.int64}[source]
        numbers = rng.normal(size=3000) * 10.0 ** rng.integers(-3, 17, 3000)
        a = numpy_helper.from_array(numbers.astype(kind), "a")
    else:
        made = codes(source, rng.integers(0, 2**31 if "32" in source else 2**15
                                          if "16" in source else 100, [3000]))
        if "float" in source:
            made.codes[~np.isfinite(made.values())] = 1
        a = made.tensor("a")
    nodes = [node("Cast", "a", "scale", to=onnx_code(to)), dq("x scale", axis=0)]
    folds(nodes, [codes("int8", np.ones(3000)).tensor("x"), a], tmp_path, kind=to)


def test_zero_points_of_every_integer_type_are_cast(tmp_path):
    for element, low, high in [("int8", -128, 127), ("uint8", 0, 255), ("int16", -2**15, 2**15 - 1),
                               ("uint16", 0, 2**16 - 1), ("int4", -8, 7), ("uint4", 0, 15)]:
        folder = tmp_path / element
        folder.mkdir()
        x = codes(element, RNG.integers(0, high + 1, [2, 3, 2]))
        nodes = [node("Cast", "wide", "zero", to=onnx_code(element)), dq()]
        tensors = [x.tensor("x"), floats([0.1, 0.2, 0.3]).tensor("scale"),
                   ints("wide", [low, 1, high])]
        folds(nodes, tensors, folder)


# Activations.

def test_pair_whose_parameters_are_computed_goes(tmp_path):
    """Its type is that of the computed zero point."""
    nodes = [node("Cast", "s64", "s", to=CAST.FLOAT), node("Cast", "z64", "z", to=CAST.INT8),
             node("Neg", "in", "a"), q("a s z", "aq"), dq("aq s z", "b"), node("Neg", "b", "out")]
    proto = model(nodes, ["in"], ["out"], [doubles("s64", 0.5), ints("z64", -128)])
    stripped, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert (op_types(stripped), report["left"]) == (["Neg", "Constant", "Constant", "Clip", "Neg"],
                                                    [])
    assert report["stripped"][0]["replaced_by"] == "Clip to [0, 127.5]"


def test_inspect_and_extract_see_computed_constants(tmp_path):
    nodes = [node("Transpose", "w", "x", perm=[2, 0, 1]),
             node("Cast", "z64", "zero", to=CAST.INT8), dq()]
    proto = model(nodes, [], [value("y", shape=None)],
                  [WIDE.tensor("w"), SCALE.tensor("scale"), ints("z64", 5)])
    source = save(proto, tmp_path / "in.onnx")
    shown = dequant("inspect", source).stdout
    assert "1 dequantizations, 1 of constants: 24 elements" in shown
    dequant("extract", source, "y", "-o", tmp_path / "y.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), computed(proto))
    dequant("extract", source, "y", "--raw", "-o", tmp_path / "x.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"),
                                  WIDE.values().transpose(2, 0, 1))


def test_nodes_that_others_read_stay(tmp_path):
    nodes = [node("Transpose", "w", "x", perm=[2, 0, 1]), dq(), node("Cast", "x", "z", to=1)]
    proto = model(nodes, [], [value("y", shape=[4, 2, 3]), value("z", shape=[4, 2, 3])],
                  [WIDE.tensor("w"), *FIXED])
    converted, _ = convert(save(proto, tmp_path / "in.onnx"))
    assert (op_types(converted), names(converted)) == (["Transpose", "Cast"], ["w", "y"])
    before, after = session(tmp_path / "in.onnx"), session(tmp_path / "out.onnx")
    for a, b in zip(before.run(None, {}), after.run(None, {}), strict=True):
        assert a.tobytes() == b.tobytes()


# What stays, with the reason.

@pytest.mark.parametrize("nodes, tensors, reason", [
    ([node("Cast", "w", "zero", to=CAST.INT8), dq()], [ints("w", 128)],
     "zero is computed by Cast: 128 is no number of int8, where its result is undefined"),
    ([node("Clip", "w low", "scale"), dq()], [floats(1).tensor("w"), floats(2).tensor("low")],
     "scale is computed by Clip: of data type 1, no integer of 8 to 64 bits"),
    ([node("Clip", "w low", "zero"), dq()], [codes("int8", 1).tensor("w"), ints("low", 2)],
     "zero is computed by Clip: input 1 has data type 7, the first 3"),
    ([node("Clip", "w low", "zero"), dq()],
     [codes("int8", 1).tensor("w"), codes("int8", [2, 3]).tensor("low")],
     "zero is computed by Clip: input 1 has 2 numbers, where a limit is one"),
    ([node("Cast", "w", "zero", to=CAST.INT8), dq()], [floats(np.nan).tensor("w")],
     "zero is computed by Cast: nan is no number of int8, where its result is undefined"),
    ([node("Cast", "w", "zero", to=CAST.INT8), dq()], [floats(-129).tensor("w")],
     "zero is computed by Cast: -129 is no number of int8, where its result is undefined"),
    ([node("Cast", "w", "scale", to=CAST.FLOAT16), dq()], [doubles("w", 0.1)],
     "scale is computed by Cast: 0.1 is rounded once to float16 by some implementations and twice "
     "by others"),
    ([node("Slice", "w from to - steps", "x"), dq()],
     [WIDE.tensor("w"), ints("from", [-5]), ints("to", [-9]), ints("steps", [-1])],
     "x is computed by Slice: a start before the first element, backwards, where implementations "
     "differ"),
    ([node("Slice", "w from to - steps", "x"), dq()],
     [WIDE.tensor("w"), ints("from", [-1]), ints("to", [2**63 - 1]), ints("steps", [-1])],
     "x is computed by Slice: an end of the largest integer, backwards, where implementations "
     "differ"),
    ([node("Slice", "w from to - steps", "x"), dq()],
     [WIDE.tensor("w"), ints("from", [-1]), ints("to", [2**31 - 1]), ints("steps", [-1])],
     "x is computed by Slice: an end of the largest integer, backwards, where implementations "
     "differ"),
    ([node("Concat", " ".join(["w"] * 65), "x", axis=0), dq()], [WIDE.tensor("w")],
     "x is computed by Concat: more than 64 inputs"),
    ([node("Constant", "", "i", value_ints=[1]), node("Add", "w w", "x"), dq()],
     [WIDE.tensor("w")], "x is computed by Add")])
def test_reason(nodes, tensors, reason, tmp_path):
    have = {t.name for t in tensors} | {o for n in nodes for o in n.output}
    more = [t for t in (WIDE.tensor("x"), *FIXED) if t.name not in have]
    stays(nodes, [*tensors, *more], reason, tmp_path)


def test_value_of_no_constant_is_computed_by_its_node(tmp_path):
    proto = model([node("Transpose", "in", "x", perm=[1, 0]), dq()], [value("in", "int8")],
                  [value("y", shape=[3, 2])], FIXED)
    _, report = convert(save(proto, tmp_path / "in.onnx"))
    assert reasons(report) == {"dq": "x is computed by Transpose"}


def test_long_chain_ends(tmp_path):
    """Each of many nodes would look at all nodes before it."""
    nodes = [node("Transpose", f"w{i}", f"w{i + 1}", perm=[1, 0]) for i in range(3000)]
    nodes += [dq(f"w{i} scale", f"y{i}", f"dq{i}") for i in (3, 3000)]
    w = codes("int8", RNG.integers(0, 256, [3, 3]))
    proto = model(nodes, [], [value("y3", shape=[3, 3]), value("y3000", shape=[3, 3])],
                  [w.tensor("w0"), SCALE.tensor("scale")])
    _, report = convert(save(proto, tmp_path / "in.onnx"))
    assert [f["node"] for f in report["folded"]] == ["dq3"]
    assert "more than 16 nodes" in reasons(report)["dq3000"]


def refused(proto, tmp_path, options=()):
    (tmp_path / "in.onnx").write_bytes(proto.SerializeToString())
    report = tmp_path / "report.json"
    done = dequant("convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "--json", *options)
    report.write_text(done.stdout)
    return done.stdout


@pytest.mark.parametrize("move, tensors, words", [
    (node("ConstantOfShape", "shape", "x", value=codes("int8", [1]).tensor("v")),
     [ints("shape", [2**20, 2**20])], "bytes, over 64 MiB"),
    (node("ConstantOfShape", "shape", "x", value=codes("int8", [1]).tensor("v")),
     [ints("shape", [2**40, 2**40])], "more than 2^63 - 1 elements"),
    (node("ConstantOfShape", "shape", "x", value=codes("int8", [1]).tensor("v")),
     [ints("shape", [-1])], "negative"),
    (node("Reshape", "w shape", "x"), [ints("shape", [2**32, 2**32])], "x is computed by Reshape"),
    (node("Reshape", "w shape", "x"), [ints("shape", [-2, 12])], "x is computed by Reshape"),
    (node("Reshape", "w shape", "x"), [ints("shape", [-1, -1])], "-1 twice"),
    (node("Gather", "w indices", "x"), [ints("indices", [2])], "index 2 of a dimension of 2"),
    (node("Transpose", "w", "x", perm=[0, 0, 1]), [], "axis 0 twice"),
    (node("Transpose", "w", "x", perm=[0, 1]), [], "perm has 2 numbers, for 3 dimensions"),
    (node("Squeeze", "w axes", "x"), [ints("axes", [0])], "dimension 0 is 2, not 1"),
    (node("Unsqueeze", "w axes", "x"), [ints("axes", [9])], "axis 9 of a tensor of 4 dimensions"),
    (node("Unsqueeze", "w axes", "x"), [ints("axes", range(80))], "83 dimensions"),
    (node("Concat", "w shape", "x", axis=0), [ints("shape", [1])], "another type or rank"),
    (node("Slice", "w a a a a", "x"), [ints("a", [0])], "a step is 0"),
    (node("Flatten", "w", "x", axis=7), [], "axis 7 of a tensor of 3 dimensions"),
    (node("Cast", "w", "x", to=8), [], "from data type 3 to 8")])
def test_wrong_and_hostile_nodes_are_left(move, tensors, words, tmp_path):
    """Nodes that onnx.checker would refuse: nothing is allocated for what they only claim."""
    proto = model([move, dq()], [], [value("y", shape=None)],
                  [WIDE.tensor("w"), *FIXED, *tensors])
    assert words in refused(proto, tmp_path)


def test_wide_tensor_that_is_too_short_is_malformed(tmp_path):
    tensor = ints("shape", [2, 12])
    tensor.raw_data = tensor.raw_data[:-1]
    proto = model([node("Reshape", "w shape", "x"), dq()], [], [value("y", shape=None)],
                  [WIDE.tensor("w"), *FIXED, tensor])
    (tmp_path / "in.onnx").write_bytes(proto.SerializeToString())
    failed = dequant("convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", code=3)
    assert "tensor shape: 15 bytes stored, 16 needed" in failed.stderr


@pytest.mark.parametrize("count", [1, 3])
def test_typed_wide_field_of_another_length_is_malformed(count, tmp_path):
    tensor = helper.make_tensor("shape", TensorProto.INT64, [2], [2, 12])
    del tensor.int64_data[:]
    tensor.int64_data.extend([2, 12, 1][:count])
    proto = model([node("Reshape", "w shape", "x"), dq()], [], [value("y", shape=None)],
                  [WIDE.tensor("w"), *FIXED, tensor])
    (tmp_path / "in.onnx").write_bytes(proto.SerializeToString())
    failed = dequant("convert", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", code=3)
    assert "tensor shape: " in failed.stderr


def test_function_that_redefines_the_operator_is_not_evaluated(tmp_path):
    body = helper.make_function("", "Transpose", ["a"], ["b"], [node("Neg", "a", "b")],
                                [helper.make_opsetid("", 21)])
    proto = model([node("Transpose", "w", "x"), dq()], [], [value("y", shape=None)],
                  [WIDE.tensor("w"), *FIXED], functions=[body])
    assert "x is computed by Transpose" in refused(proto, tmp_path)
