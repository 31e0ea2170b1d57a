"""`dequant convert --strip-qdq` where codes whose slices have scales of their own stay quantized:
another node does not keep the slices along an axis, or that is not known. The reason says so."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import slices_support as slices
from arithmetic import codes, floats
from slices_support import KEPT, RESHAPE, SHAPE, ints, parameters, sliced, stays
from support import convert, dq, model, node, q, reasons, save, value


@pytest.fixture(autouse=True)
def same_numbers_in_any_order_of_tests():
    slices.same_numbers()


LOST = "each slice along axis {} has a scale of its own, and move ({}) does not keep these slices"


@pytest.mark.parametrize("move, more, shape, axis", [
    (RESHAPE, [ints("shape", [8, 36])], SHAPE, 1),
    (RESHAPE, [ints("shape", [4, 2, 36])], SHAPE, 1),
    (RESHAPE, [ints("shape", [2, 2, 2, 36])], SHAPE, 1),
    (RESHAPE, [ints("shape", [0, 4, 0])], [0, 4, 0], 1),
    (node("Flatten", "a", "b", "move"), [], SHAPE, 1),
    (node("Concat", "a a", "b", "move", axis=1), [], SHAPE, 1),
    (node("Slice", "a from to axes", "b", "move"),
     [ints("from", [1]), ints("to", [5]), ints("axes", [-3])], SHAPE, 1),
    (node("Slice", "a from to axes steps", "b", "move"),
     [ints("from", [9]), ints("to", [-9]), ints("axes", [1]), ints("steps", [-1])], SHAPE, 1),
    (node("Gather", "a at", "b", "move", axis=1), [ints("at", [3, 2, 1, 0])], SHAPE, 1),
    (node("Tile", "a times", "b", "move"), [ints("times", [1, 2, 1, 1])], SHAPE, 1),
    (node("Pad", "a pads pad", "b", "move"),
     [ints("pads", [0, 1, 0, 0, 0, -1, 0, 0]), codes("uint8", 7).tensor("pad")], SHAPE, 1),
    (node("MaxPool", "a", "b", "move", kernel_shape=[1, 1]), [], SHAPE, 2),
    (node("DepthToSpace", "a", "b", "move", blocksize=2), [], SHAPE, 2),
    (node("GatherElements", "a at", "b", "move", axis=1),
     [ints("at", np.zeros(SHAPE))], SHAPE, 1)])
def test_node_that_changes_the_slices_stays(move, more, shape, axis, tmp_path):
    proto, _, _ = sliced(move, more, shape, axis, axis, same_zero=True)
    reason = LOST.format(axis, move.op_type)
    stays(proto, tmp_path, reason)


def test_scales_along_another_axis_than_the_moved_one_stay(tmp_path):
    """Transposed codes with scales along the axis that had them before."""
    proto, _, _ = sliced(node("Transpose", "a", "b", perm=[1, 0, 2]), [], [4, 4, 3], 1, 1)
    stays(proto, tmp_path, "has its scales along another axis")


@pytest.mark.parametrize("move, more, shape, axis", [
    (RESHAPE, [ints("shape", [-1, 4, 36])], ["n", 4, "h", "w"], 1),
    (RESHAPE, [ints("shape", [-1, 4])], ["n", "m", 2, 2], 1)])
def test_open_dimensions_do_not_say_where_the_axis_is(move, more, shape, axis, tmp_path):
    proto, _, _ = sliced(move, more, shape, axis, 1, count=4)
    stays(proto, tmp_path, LOST.format(1, "Reshape"))


def test_shape_that_nothing_tells_stays(tmp_path):
    """What a node with an unknown operator computes."""
    scales, zeros = parameters(4)
    nodes = [node("Odd", "in", "x", domain="test"), q("x s z", "a", "q", axis=1),
             node("Transpose", "a", "b", "move", perm=[0, 2, 1]), dq("b s z", "c", "dq", axis=2),
             node("Odd", "c", "out", domain="test")]
    proto = model(nodes, [value("in", shape=[2, 4, 6])], [value("out", shape=[2, 6, 4])],
                  [scales.tensor("s"), zeros.tensor("z")], domains=["test"])
    stays(proto, tmp_path, "the shape of a is not known")


def test_arguments_that_are_computed_stay(tmp_path):
    scales, zeros = parameters(4)
    nodes = [q("in s z", "a", "q", axis=1), node("Slice", "a from to axes", "b", "move"),
             dq("b s z", "c", "dq", axis=1), node("Identity", "c", "out")]
    proto = model(nodes, [value("in", shape=SHAPE),
                          *(helper.make_tensor_value_info(n, TensorProto.INT64, [1])
                            for n in ("from", "to", "axes"))], [value("out", shape=None)],
                  [scales.tensor("s"), zeros.tensor("z")])
    stays(proto, tmp_path, "input axes of move is not known")


def test_other_number_of_slices_than_scales_stays(tmp_path):
    proto, _, _ = sliced(node("Transpose", "a", "b", perm=[1, 0]), [], [3, 5], 1, 0, count=4)
    stays(proto, tmp_path, "has not 4 of them")


@pytest.mark.parametrize("axis", [-4, 3])
def test_axis_that_does_not_exist_stays(axis, tmp_path):
    proto, _, _ = sliced(node("Transpose", "a", "b", "move", perm=[1, 0, 2]), [], [3, 4, 5], 1, 0,
                         written=(1, axis))
    stays(proto, tmp_path, "no such axis exists" if axis < 0 else "scales along another axis")


def test_scales_of_blocks_stay(tmp_path):
    scales = floats(np.full([2, 3], 0.5))
    nodes = [q("in s", "a", "q", axis=0, block_size=2),
             node("Transpose", "a", "b", "move", perm=[1, 0]),
             dq("b t", "c", "dq", axis=1, block_size=2), node("Identity", "c", "out")]
    proto = model(nodes, [value("in", shape=[4, 3])], [value("out", shape=[3, 4])],
                  [scales.tensor("s"), floats(np.full([3, 2], 0.5)).tensor("t")])
    stays(proto, tmp_path, "each block has a scale of its own")


@pytest.mark.parametrize("name, reason", [("MaxPool", "its scale is negative"),
                                          ("Pad", "its scale is negative")])
def test_one_negative_scale_turns_the_order_of_its_slice_around(name, reason, tmp_path):
    move, more, shape, axis, to = KEPT[name]
    proto, scales, _ = sliced(move, more, shape, axis, to, same_zero=True)
    numbers = scales.array().copy()
    numbers[2] *= -1
    proto.graph.initializer[0].CopyFrom(floats(numbers).tensor("s"))
    stays(proto, tmp_path, reason)


def test_padding_that_is_the_zero_point_of_some_slices_stays(tmp_path):
    move, more, shape, axis, to = KEPT["Pad"]
    proto, _, _ = sliced(move, more, shape, axis, to, same_zero=True)
    proto.graph.initializer[1].CopyFrom(codes("uint8", [7, 7, 8, 7]).tensor("z"))
    stays(proto, tmp_path, "its padding is not the zero point")


def test_axis_of_a_function_s_caller_stays(tmp_path):
    scales, zeros = parameters(4)
    inner = [q("in s z", "a", "q"), node("Transpose", "a", "b", "move", perm=[1, 0]),
             dq("b s z", "out", "dq")]
    for n in (inner[0], inner[2]):
        attribute = n.attribute.add()
        attribute.name, attribute.ref_attr_name = "axis", "along"
        attribute.type = onnx.AttributeProto.INT
    function = helper.make_function("test", "Moved", ["in", "s", "z"], ["out"], inner,
                                    [helper.make_opsetid("", 21)], ["along"])
    proto = model([node("Moved", "in s z", "out", domain="test", along=0)],
                  [value("in", shape=[4, 4])], [value("out", shape=[4, 4])],
                  [scales.tensor("s"), zeros.tensor("z")], functions=[function], domains=["test"])
    source = save(proto, tmp_path / "in.onnx")
    stripped, _ = convert(source, "--strip-qdq", "--clip", "never")
    assert "DequantizeLinear" in str(stripped)


def test_codes_that_need_a_clip_for_each_slice_stay(tmp_path):
    """One Clip cannot have the range of each slice."""
    move, more, shape, axis, to = KEPT["Transpose"]
    source = save(sliced(move, more, shape, axis, to)[0], tmp_path / "in.onnx")
    _, report = convert(source, "--strip-qdq")
    assert "each slice has a range of its own, which no single Clip keeps" in reasons(report)["dq"]


def test_slices_of_very_many_nodes_take_memory(tmp_path):
    """More than is allowed for a structure of this size; then nothing else fails for that."""
    scales, zeros = parameters(4)
    count = 9500
    nodes = [q("in s z", "t0", "q", axis=1),
             *(node("Transpose", f"t{i}", f"t{i + 1}", perm=[0, 2, 1]) for i in range(count)),
             dq(f"t{count} s z", "y", "dq", axis=1), node("Identity", "y", "out")]
    proto = model(nodes, [value("in", shape=[2, 4, 4])], [value("out", shape=[2, 4, 4])],
                  [scales.tensor("s"), zeros.tensor("z")])
    stays(proto, tmp_path, "slices of all its nodes takes more memory than mem allows")
    _, report = convert(tmp_path / "in.onnx", "--strip-qdq", "--clip", "never", "--mem", "1GiB",
                        to="more.onnx")
    assert report["left"] == []
