"""`dequant convert --strip-qdq` where other nodes move the codes between a QuantizeLinear, a
constant or an input of the model and the DequantizeLinear: the nodes then move floats. With inputs
that the pairs do not change, the converted model computes the same bits."""

import json

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from arithmetic import codes, dequantized, floats
from slices_support import ints, shape_of
from support import (convert, dequant, dq, initializer, model, names, node,
                     op_types, q, reasons, save, session, value)

RNG = np.random.default_rng(11)
SCALE, ZERO = floats(0.5), codes("uint8", 100)
PARAMETERS = [SCALE.tensor("s"), ZERO.tensor("z")]
SHAPE = [1, 4, 6, 6]
TRANSPOSE = node("Transpose", "a", "b", perm=[0, 2, 3, 1])


@pytest.fixture(autouse=True)
def same_numbers_in_any_order_of_tests():
    global RNG
    RNG = np.random.default_rng(11)


def grid(shape, low=-50, high=77):
    """Numbers that the pair does not change."""
    return (RNG.integers(low * 2, high * 2, shape) / 2).astype("f4")


def same_bits(source, target, feeds, feeds_after=None):
    before = session(source).run(None, feeds)
    after = session(target).run(None, feeds if feeds_after is None else feeds_after)
    for a, b in zip(before, after, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()


MOVES = {
    "Transpose": (node("Transpose", "a", "b", perm=[0, 2, 3, 1]), []),
    "Reshape": (node("Reshape", "a shape", "b"), [ints("shape", [2, -1])]),
    "Flatten": (node("Flatten", "a", "b"), []),
    "Squeeze": (node("Squeeze", "a axes", "b"), [ints("axes", [0])]),
    "Unsqueeze": (node("Unsqueeze", "a axes", "b"), [ints("axes", [0])]),
    "Expand": (node("Expand", "a shape", "b"), [ints("shape", [3, 4, 6, 6])]),
    "Tile": (node("Tile", "a times", "b"), [ints("times", [1, 2, 1, 1])]),
    "Slice": (node("Slice", "a from to", "b"), [ints("from", [0, 1]), ints("to", [1, 3])]),
    "Gather": (node("Gather", "a at", "b", axis=1), [ints("at", [3, 0])]),
    "GatherElements": (node("GatherElements", "a at", "b", axis=1),
                       [ints("at", np.zeros([1, 2, 6, 6]))]),
    "GatherND": (node("GatherND", "a at", "b"), [ints("at", [[0, 1, 2]])]),
    "Concat": (node("Concat", "a a", "b", axis=1), []),
    "MaxPool": (node("MaxPool", "a", "b", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
                []),
    "MaxPool same": (node("MaxPool", "a", "b", kernel_shape=[2, 2], auto_pad="SAME_UPPER"), []),
    "Pad": (node("Pad", "a pads z", "b"), [ints("pads", [0, 0, 1, 2, 0, 0, 1, 0])]),
    "Pad of axes": (node("Pad", "a pads z axes", "b"),
                    [ints("pads", [1, 2]), ints("axes", [2])]),
    "Pad by reflection": (node("Pad", "a pads", "b", mode="reflect"),
                          [ints("pads", [0, 0, 1, 2, 0, 0, 1, 0])]),
    "DepthToSpace": (node("DepthToSpace", "a", "b", blocksize=2), []),
    "SpaceToDepth": (node("SpaceToDepth", "a", "b", blocksize=2), []),
    "Resize": (node("Resize", "a - scales", "b", mode="nearest",
                    coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
               [floats([1, 1, 2, 2]).tensor("scales")]),
    "Where": (node("Where", "yes a a", "b"),
              [numpy_helper.from_array(RNG.integers(0, 2, SHAPE).astype(bool), "yes")]),
}


def moved(name, zero="z"):
    """in -> QuantizeLinear -> the move -> DequantizeLinear -> Identity -> out"""
    move, more = MOVES[name]
    nodes = [q(f"in s {zero}", "a"), move, dq(f"b s {zero}", "c"), node("Identity", "c", "out")]
    proto = model(nodes, [value("in", shape=SHAPE)], [value("out", shape=None)],
                  [*PARAMETERS, *more])
    shape = shape_of(proto, "out")
    proto.graph.output[0].CopyFrom(value("out", shape=shape))
    proto.graph.value_info.extend([value("a", "uint8", SHAPE), value("b", "uint8", shape)])
    return proto


@pytest.mark.parametrize("clip", ["never", "always"])
@pytest.mark.parametrize("name", MOVES)
def test_node_that_moves_codes_moves_floats(name, clip, tmp_path):
    source = save(moved(name), tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq", "--clip", clip)
    kept = [o for o in op_types(stripped) if o != "Constant"]
    assert kept == (["Clip"] if clip == "always" else []) + [MOVES[name][0].op_type, "Identity"]
    assert report["left"] == []
    assert "uint8" not in str([helper.tensor_dtype_to_string(v.type.tensor_type.elem_type)
                               for v in stripped.graph.value_info]).lower()
    for _ in range(3):
        same_bits(source, tmp_path / "out.onnx", {"in": grid(SHAPE)})


@pytest.mark.parametrize("select", [0, 1])
@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
def test_indices_of_the_greatest_codes_are_those_of_the_greatest_floats(op_type, select, tmp_path):
    """As ONNX Runtime's quantizer leaves ArgMax: no DequantizeLinear reads the codes."""
    nodes = [q("in s z", "a"), node("Transpose", "a", "b", perm=[0, 2, 3, 1]),
             node(op_type, "b", "out", "arg", axis=1, keepdims=0, select_last_index=select)]
    out = helper.make_tensor_value_info("out", TensorProto.INT64, [1, 6, 4])
    source = save(model(nodes, [value("in", shape=SHAPE)], [out], PARAMETERS),
                  tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq", "--clip", "never")
    assert op_types(stripped) == ["Transpose", op_type] and report["left"] == []
    for _ in range(3):
        same_bits(source, tmp_path / "out.onnx", {"in": grid(SHAPE, 0, 3)})


def test_index_is_no_number_of_the_region(tmp_path):
    """What ArgMax writes is not dequantized, even where a node with codes reads it."""
    nodes = [q("in s z", "a"), node("ArgMax", "a", "b", "arg", axis=1),
             node("Cast", "b", "c", to=TensorProto.UINT8), dq("c s z", "out")]
    source = save(model(nodes, [value("in", shape=SHAPE)], [value("out", shape=[1, 1, 6, 6])],
                        PARAMETERS), tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq", "--clip", "never")
    assert op_types(stripped) == ["ArgMax", "Cast", "DequantizeLinear"]
    assert [left["op_type"] for left in report["left"]] == ["DequantizeLinear"]
    same_bits(source, tmp_path / "out.onnx", {"in": grid(SHAPE)})


def test_indices_of_codes_with_a_negative_scale_stay(tmp_path):
    nodes = [q("in n z", "a", "q"), node("ArgMax", "a", "out", "arg", axis=1)]
    out = helper.make_tensor_value_info("out", TensorProto.INT64, [1, 1, 6, 6])
    source = save(model(nodes, [value("in", shape=SHAPE)], [out],
                        [floats(-0.5).tensor("n"), ZERO.tensor("z")]), tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq")
    assert op_types(stripped) == ["QuantizeLinear", "ArgMax"]
    assert list(reasons(report)) == ["q"]


def test_region_of_many_nodes_goes_at_once(tmp_path):
    """Two quantizers with equal parameters, a Split and a Concat, and several readers."""
    nodes = [q("in s z", "a"), q("also s z", "b", "q2"), node("Concat", "a b", "c", axis=1),
             node("Split", "c", "d e", axis=1, num_outputs=2),
             node("Transpose", "d", "f", perm=[0, 2, 3, 1]), node("Reshape", "e shape", "g"),
             dq("f s z", "h", "dq1"), dq("g s z", "i", "dq2"), dq("a s z", "j", "dq3"),
             node("Neg", "h", "out"), node("Neg", "i", "out2"), node("Neg", "j", "out3")]
    proto = model(nodes, [value(n, shape=SHAPE) for n in ("in", "also")],
                  [value("out", shape=[1, 6, 6, 4]), value("out2", shape=[2, 72]),
                   value("out3", shape=SHAPE)], [*PARAMETERS, ints("shape", [2, -1])])
    source = save(proto, tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq", "--clip", "never")
    assert op_types(stripped) == ["Concat", "Split", "Transpose", "Reshape", "Neg", "Neg", "Neg"]
    assert report["left"] == []
    same_bits(source, tmp_path / "out.onnx", {"in": grid(SHAPE), "also": grid(SHAPE)})


@pytest.mark.parametrize("reader", [[node("Identity", "e", "out")], [node("Neg", "in", "out")]])
def test_pair_behind_a_region_goes_too(reader, tmp_path):
    """It reads what was quantized, by the types that the model tells, or nothing reads it."""
    nodes = [q("in s z", "a"), TRANSPOSE, dq("b s z", "c"), q("c s2 z", "d", "q2"),
             dq("d s2 z", "e", "dq2"), *reader]
    shape = [1, 6, 6, 4]
    out = shape if reader[0].op_type == "Identity" else SHAPE
    proto = model(nodes, [value("in", shape=SHAPE)], [value("out", shape=out)],
                  [*PARAMETERS, floats(0.25).tensor("s2")],
                  value_info=[value("a", "uint8", SHAPE), value("b", "uint8", shape),
                              value("c", shape=shape), value("d", "uint8", shape)])
    stripped, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq", "--clip", "never")
    assert report["left"] == []
    assert op_types(stripped) == (["Transpose", "Identity"] if out == shape else ["Neg"])


@pytest.mark.parametrize("options", [[], ["--external-data"]])
@pytest.mark.parametrize("element", ["uint8", "int8", "int16"])
def test_quantized_embedding_becomes_a_float_one(element, options, tmp_path):
    table = codes(element, RNG.integers(0, 16, [500, 24]))
    zero = codes(element, 3)
    nodes = [node("Gather", "emb_quantized ids", "rows"), dq("rows s z", "y", "dq"),
             node("Neg", "y", "out")]
    proto = model(nodes, [helper.make_tensor_value_info("ids", TensorProto.INT64, [2, 7])],
                  [value("out", shape=[2, 7, 24])],
                  [table.tensor("emb_quantized"), SCALE.tensor("s"), zero.tensor("z")])
    source = save(proto, tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq", *options)
    assert (op_types(stripped), names(stripped)) == (["Gather", "Neg"],
                                                     ["emb_DequantizeLinear_Output"])
    made = initializer(stripped, "emb_DequantizeLinear_Output")
    np.testing.assert_array_equal(made.codes, dequantized(table, SCALE, zero).codes)
    [folded] = report["folded"]
    assert (folded["x"], folded["node"]) == ("emb_quantized", "dq")
    assert report["left"] == []
    same_bits(source, tmp_path / "out.onnx", {"ids": RNG.integers(0, 500, [2, 7])})


def test_constant_that_two_nodes_move_is_folded_once(tmp_path):
    table = codes("int8", RNG.integers(0, 255, [50, 8]))
    nodes = [node("Gather", "table ids", "a"), node("Gather", "table ids", "b"),
             node("Concat", "a b", "c", axis=0), dq("c s z", "y"), node("Neg", "y", "out")]
    proto = model(nodes, [helper.make_tensor_value_info("ids", TensorProto.INT64, [3])],
                  [value("out", shape=[6, 8])],
                  [table.tensor("table"), SCALE.tensor("s"), codes("int8", 7).tensor("z")])
    source = save(proto, tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq")
    assert (len(report["folded"]), names(stripped)) == (1, ["table_DequantizeLinear_Output"])
    same_bits(source, tmp_path / "out.onnx", {"ids": RNG.integers(0, 50, [3])})


def test_inputs_and_outputs_of_the_model_become_float(tmp_path):
    """As tf2onnx writes a quantized TFLite model whose inputs and outputs are quantized."""
    nodes = [node("Transpose", "image", "t", perm=[0, 3, 1, 2]), dq("t s z", "a"),
             node("Neg", "a", "b"), q("b s2 z", "bq"), node("MaxPool", "bq", "m",
                                                            kernel_shape=[2, 2]),
             node("Flatten", "m", "result")]
    proto = model(nodes, [value("image", "uint8", [1, 6, 6, 4])],
                  [value("result", "uint8", [1, 100])],
                  [*PARAMETERS, floats(0.25).tensor("s2")])
    source = save(proto, tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq")
    assert report["left"] == []
    assert {n.op_type for n in stripped.graph.node} == {"Constant", "Transpose", "Clip", "Neg",
                                                        "MaxPool", "Flatten"}
    assert [helper.tensor_dtype_to_string(v.type.tensor_type.elem_type)
            for v in (*stripped.graph.input, *stripped.graph.output)] == ["TensorProto.FLOAT"] * 2
    assert [(c["name"], c["scale"], c["zero_point"])
            for c in report["inputs_changed"] + report["outputs_changed"]] == [
        ("image", 0.5, 100), ("result", 0.25, 100)]
    image = RNG.integers(0, 256, [1, 6, 6, 4], np.uint8)
    [before] = session(source).run(None, {"image": image})
    [after] = session(tmp_path / "out.onnx").run(
        None, {"image": (image.astype("f4") - 100) * np.float32(0.5)})
    np.testing.assert_array_equal((before.astype("f4") - 100) * np.float32(0.25), after)


def test_weight_that_others_read_quantized_is_copied(tmp_path):
    """The codes stay for their other reader."""
    table = codes("int8", RNG.integers(0, 255, [50, 8]))
    nodes = [node("Gather", "table ids", "a"), dq("a s z", "y"), node("Neg", "y", "out"),
             node("Cast", "table", "out2", to=TensorProto.INT32)]
    proto = model(nodes, [helper.make_tensor_value_info("ids", TensorProto.INT64, [3])],
                  [value("out", shape=[3, 8]), value("out2", "int32", [50, 8])],
                  [table.tensor("table"), SCALE.tensor("s"), codes("int8", 7).tensor("z")])
    source = save(proto, tmp_path / "in.onnx")
    stripped, _ = convert(source, "--strip-qdq")
    assert names(stripped) == ["table", "table_DequantizeLinear_Output"]
    same_bits(source, tmp_path / "out.onnx", {"ids": RNG.integers(0, 50, [3])})


# What stays, with the reason.

def stays(nodes, tmp_path, reason, *options, tensors=(), inputs=None, outputs=None, opset=21):
    proto = model(nodes, inputs or [value("in", shape=SHAPE)],
                  outputs or [value("out", shape=None)], [*PARAMETERS, *tensors], opset=opset)
    source = save(proto, tmp_path / "in.onnx")
    done = dequant("convert", source, "-o", tmp_path / "out.onnx", "--strip-qdq", "--json",
                   *options)
    report = json.loads(done.stdout)
    assert reason in reasons(report)["dq"]
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()
    return reasons(report)


@pytest.mark.parametrize("move, tensors, reason", [
    (node("Pad", "a pads other", "b"),
     [ints("pads", [0, 0, 1, 0, 0, 0, 0, 0]), codes("uint8", 99).tensor("other")],
     "its padding is not the zero point"),
    (node("Pad", "a pads", "b"), [ints("pads", [0, 0, 1, 0, 0, 0, 0, 0])],
     "its padding is not the zero point"),
    (node("MaxPool", "a", "b", kernel_shape=[2, 2], pads=[1, 1, 1, 1], dilations=[2, 2]), [],
     "a window may be padding alone"),
    (node("MaxPool", "a", "b", kernel_shape=[2, 2], ceil_mode=1), [],
     "a window may be padding alone"),
    (node("MaxPool", "a", "b i", kernel_shape=[2, 2]), [], "its indices may be others"),
    (node("Resize", "a - scales", "b", mode="linear"), [floats([1, 1, 2, 2]).tensor("scales")],
     "its mode is not nearest")])
def test_node_that_would_compute_other_floats_stays(move, tensors, reason, tmp_path):
    nodes = [q("in s z", "a"), move, dq("b s z", "c"), node("Identity", "c", "out")]
    left = stays(nodes, tmp_path, reason, tensors=tensors)
    assert left["q"].startswith("dq, which dequantizes it, stays: b is computed by ")


@pytest.mark.parametrize("scale", [-0.5])
@pytest.mark.parametrize("name", ["MaxPool", "Pad"])
def test_negative_scale_turns_the_order_around(name, scale, tmp_path):
    proto = moved(name)
    proto.graph.initializer[0].CopyFrom(floats(scale).tensor("s"))
    source = save(proto, tmp_path / "in.onnx")
    _, report = convert(source, "--strip-qdq", "--clip", "never")
    assert "its scale is negative" in reasons(report)["dq"]
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()


def test_negative_scale_does_not_matter_to_other_moves(tmp_path):
    proto = moved("Transpose")
    proto.graph.initializer[0].CopyFrom(floats(-0.5).tensor("s"))
    source = save(proto, tmp_path / "in.onnx")
    stripped, _ = convert(source, "--strip-qdq", "--clip", "never")
    assert op_types(stripped) == ["Transpose", "Identity"]
    same_bits(source, tmp_path / "out.onnx", {"in": -grid(SHAPE)})



def test_codes_that_others_read_stay(tmp_path):
    nodes = [q("in s z", "a"), TRANSPOSE, dq("b s z", "c"), node("Identity", "c", "out"),
             node("Cast", "b", "out2", "cast", to=TensorProto.INT32)]
    stays(nodes, tmp_path, "b is computed by Transpose, and cast (Cast) reads b quantized",
          outputs=[value("out", shape=None), value("out2", "int32", None)])


def test_other_parameters_stay(tmp_path):
    nodes = [q("in s z", "a"), TRANSPOSE, dq("b s2 z", "c"), node("Identity", "c", "out")]
    stays(nodes, tmp_path, "q has another scale, zero point or type",
          tensors=[floats(0.25).tensor("s2")])


def test_scales_of_slices_stay(tmp_path):
    tensors = [floats([0.5, 0.25, 1, 2]).tensor("s4"), codes("uint8", [1, 2, 3, 4]).tensor("z4")]
    nodes = [q("in s4 z4", "a", axis=1), TRANSPOSE, dq("b s4 z4", "c", axis=3),
             node("Identity", "c", "out")]
    stays(nodes, tmp_path, "each slice has a range of its own", tensors=tensors)


def test_scale_that_is_no_scale_stays(tmp_path):
    nodes = [q("in zero z", "a"), TRANSPOSE, dq("b zero z", "c"), node("Identity", "c", "out")]
    stays(nodes, tmp_path, "its scale is zero", tensors=[floats(0).tensor("zero")])


def test_node_that_is_not_selected_stays(tmp_path):
    nodes = [q("in s z", "a"), TRANSPOSE, dq("b s z", "c"), node("Identity", "c", "out")]
    stays(nodes, tmp_path, "not selected", "--exclude", "dq")


def test_input_that_becomes_an_output_stays(tmp_path):
    nodes = [node("Transpose", "in", "b", perm=[0, 2, 3, 1]), dq("b s z", "c"),
             node("Identity", "c", "out")]
    stays(nodes, tmp_path, "of the model is quantized", inputs=[value("in", "uint8", SHAPE)],
          outputs=[value("out", shape=None), value("b", "uint8", None)])


def test_type_of_constants_that_differs_stays(tmp_path):
    nodes = [node("Gather", "table ids", "a"), dq("a s z", "out")]
    stays(nodes, tmp_path, "would have the type of dtype", "--dtype", "float16",
          tensors=[codes("uint8", np.zeros([4, 2])).tensor("table")],
          inputs=[helper.make_tensor_value_info("ids", TensorProto.INT64, [3])])


def test_many_regions_in_linear_time(tmp_path):
    """A quantizer whose codes thousands of nodes move, all but one to a DequantizeLinear."""
    count = 3000
    nodes = [q("in s z", "a")]
    for i in range(count):
        nodes += [node("Transpose", "a", f"t{i}", perm=[0, 2, 3, 1]), dq(f"t{i} s z", f"y{i}",
                                                                        f"dq{i}")]
    nodes += [node("Cast", "a", "out", to=TensorProto.INT32)]
    proto = model(nodes, [value("in", shape=SHAPE)],
                  [value("out", "int32", SHAPE), *(value(f"y{i}", shape=[1, 6, 6, 4])
                                                   for i in range(count))], PARAMETERS)
    _, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert len(report["left"]) == count + 1


# Models made by others.

def test_maxpool_and_reshape_as_onnx_runtime_quantizes_them(tmp_path):
    """Its quantizer puts pairs around both: the last pairs go with their codes in place."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
    weight = numpy_helper.from_array(RNG.normal(size=[4, 4, 3, 3]).astype("f4"), "w")
    nodes = [node("Conv", "in w", "a", pads=[1, 1, 1, 1]), node("Relu", "a", "b"),
             node("MaxPool", "b", "c", kernel_shape=[2, 2], strides=[2, 2]),
             node("Reshape", "c shape", "d"), node("MatMul", "d m", "out")]
    proto = model(nodes, [value("in", shape=SHAPE)], [value("out", shape=[1, 5])],
                  [weight, ints("shape", [1, 36]),
                   numpy_helper.from_array(RNG.normal(size=[36, 5]).astype("f4"), "m")])
    original = save(proto, tmp_path / "float.onnx")

    class Data(CalibrationDataReader):
        def __init__(self):
            self.left = [{"in": RNG.normal(size=SHAPE).astype("f4")} for _ in range(100)]

        def get_next(self):
            return self.left.pop() if self.left else None

    quantize_static(str(original), str(tmp_path / "in.onnx"), Data(),
                    quant_format=QuantFormat.QDQ)
    stripped, report = convert(tmp_path / "in.onnx", "--strip-qdq")
    assert report["left"] == []
    assert not {"QuantizeLinear", "DequantizeLinear"} & set(op_types(stripped))
    sessions = [session(p) for p in (original, tmp_path / "out.onnx", tmp_path / "in.onnx")]
    noise = np.zeros(2)
    for _ in range(100):
        feeds = {"in": RNG.normal(size=SHAPE).astype("f4")}
        exact, *others = (s.run(None, feeds)[0] for s in sessions)
        noise += [np.square(other - exact).sum() for other in others]
    assert noise[0] < noise[1]
