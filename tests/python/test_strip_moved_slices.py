"""`dequant convert --strip-qdq` where other nodes move codes whose slices along an axis have scales
of their own: the nodes then move floats if they keep these slices. With inputs that the pairs do
not change, the converted model computes the same bits."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import slices_support as slices
from arithmetic import codes, dequantized, floats
from slices_support import (KEPT, RESHAPE, SHAPE, grid, ints, ordered, parameters, same_bits,
                            shape_of, sliced, stays)
from support import (convert, dq, initializer, model, names, node, op_types, q, reasons, save,
                     session, value)


@pytest.fixture(autouse=True)
def same_numbers_in_any_order_of_tests():
    slices.same_numbers()


def goes(proto, scales, zeros, shape, axis, tmp_path):
    source = save(proto, tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq", "--clip", "never")
    assert report["left"] == []
    assert [o for o in op_types(stripped) if o in ("QuantizeLinear", "DequantizeLinear")] == []
    for _ in range(3):
        same_bits(source, tmp_path / "out.onnx", {"in": grid(shape, axis, scales, zeros)})


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("name", KEPT)
def test_node_that_keeps_slices_moves_floats(name, opset, tmp_path):
    if name == "Pad of axes" and opset < 18:
        pytest.skip("Pad has axes since opset 18")
    move, more, shape, axis, to = KEPT[name]
    proto, scales, zeros = sliced(move, more, shape, axis, to, opset, **ordered(name))
    goes(proto, scales, zeros, shape, axis, tmp_path)


@pytest.mark.parametrize("name", KEPT)
def test_axes_count_from_the_back_too(name, tmp_path):
    move, more, shape, axis, to = KEPT[name]
    rank = len(shape_of(sliced(move, more, shape, axis, to, **ordered(name))[0], "out"))
    proto, scales, zeros = sliced(move, more, shape, axis, to, **ordered(name),
                                  written=(axis - len(shape), to - rank))
    goes(proto, scales, zeros, shape, axis, tmp_path)


def test_axis_that_is_not_written_is_1(tmp_path):
    move, more, shape, axis, to = KEPT["Reshape"]
    proto, scales, zeros = sliced(move, more, shape, axis, to, written=(None, None))
    goes(proto, scales, zeros, shape, axis, tmp_path)


TELLING = sorted({*KEPT} - {"Expand", "Tile"})  # operators whose arguments tell the shape


@pytest.mark.parametrize("name", TELLING)
def test_shapes_of_the_floats_say_those_of_the_codes(name, tmp_path):
    """As models without value_info for what is quantized."""
    move, more, shape, axis, to = KEPT[name]
    proto, scales, zeros = sliced(move, more, shape, axis, to, told=False, **ordered(name))
    goes(proto, scales, zeros, shape, axis, tmp_path)


@pytest.mark.parametrize("name", TELLING)
def test_arguments_say_the_shapes_behind_a_node(name, tmp_path):
    """Nothing else tells them: an unknown operator reads the floats."""
    move, more, shape, axis, to = KEPT[name]
    proto, _, _ = sliced(move, more, shape, axis, to, told=False, **ordered(name))
    rank = len(proto.graph.output[0].type.tensor_type.shape.dim)
    proto.graph.node[2].attribute[0].i = to - rank
    proto.graph.node[3].CopyFrom(node("Odd", "c", "out", domain="test"))
    proto.opset_import.append(helper.make_opsetid("test", 1))
    source = save(proto, tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq", "--clip", "never")
    assert (op_types(stripped)[-2:], report["left"]) == ([move.op_type, "Odd"], [])


@pytest.mark.parametrize("name", ["Expand", "Tile"])
def test_shapes_that_arguments_do_not_say_are_needed(name, tmp_path):
    move, more, shape, axis, to = KEPT[name]
    proto, _, _ = sliced(move, more, shape, axis, to, told=False)
    proto.graph.node[3].CopyFrom(node("Odd", "c", "out", domain="test"))
    proto.opset_import.append(helper.make_opsetid("test", 1))
    stays(proto, tmp_path, "the shape of b is not known")


def test_dimensions_behind_the_axis_say_where_it_is(tmp_path):
    """The first dimension is open, as that of a batch."""
    proto, scales, zeros = sliced(RESHAPE, [ints("shape", [-1, 4, 36])], ["n", 4, 6, 6], 1, 1)
    goes(proto, scales, zeros, [3, 4, 6, 6], 1, tmp_path)


def test_open_axis_has_as_many_slices_as_scales(tmp_path):
    proto, scales, zeros = sliced(RESHAPE, [ints("shape", [2, 4, 36])], [2, "c", 6, 6], 1, 1,
                                  count=4)
    goes(proto, scales, zeros, SHAPE, 1, tmp_path)


@pytest.mark.parametrize("move, more, to", [
    (node("Transpose", "a", "b", perm=[0, 2, 1]), [], 2),
    (RESHAPE, [ints("shape", [1, -1, 4, 2, 3])], 2)])
def test_empty_tensor_has_slices_too(move, more, to, tmp_path):
    proto, scales, zeros = sliced(move, more, [0, 4, 6], 1, to)
    goes(proto, scales, zeros, [0, 4, 6], 1, tmp_path)


def test_region_of_many_nodes_goes_at_once(tmp_path):
    """A quantizer, a constant, a Concat, a Split and readers with axes of their own."""
    scales, zeros = parameters(4)
    rest = codes("uint8", slices.RNG.integers(0, 256, [2, 4, 6]))
    nodes = [q("in s z", "a", "q", axis=1), node("Concat", "a rest", "b", axis=0),
             node("Split", "b", "c d", axis=2, num_outputs=2),
             node("Transpose", "c", "e", perm=[2, 0, 1]), node("Reshape", "d shape", "f"),
             dq("e s z", "x", "dq1", axis=-1), dq("f s z", "y", "dq2", axis=1),
             dq("a s z", "w", "dq3", axis=1), node("Neg", "x", "out"), node("Neg", "y", "out2"),
             node("Neg", "w", "out3")]
    proto = model(nodes, [value("in", shape=[2, 4, 6])],
                  [value("out", shape=[3, 4, 4]), value("out2", shape=[4, 4, 3, 1]),
                   value("out3", shape=[2, 4, 6])],
                  [scales.tensor("s"), zeros.tensor("z"), rest.tensor("rest"),
                   ints("shape", [0, 4, 3, 1])],
                  value_info=[value("d", "uint8", [4, 4, 3])])
    source = save(proto, tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq", "--clip", "never")
    assert report["left"] == []
    assert op_types(stripped) == ["Concat", "Split", "Transpose", "Reshape", "Neg", "Neg", "Neg"]
    [folded] = report["folded"]
    assert (folded["x"], folded["axis"]) == ("rest", 1)
    made = initializer(stripped, "rest_DequantizeLinear_Output")
    np.testing.assert_array_equal(made.codes, dequantized(rest, scales, zeros, axis=1).codes)
    same_bits(source, tmp_path / "out.onnx", {"in": grid([2, 4, 6], 1, scales, zeros)})


@pytest.mark.parametrize("ids", [[3], [2, 7], []])
@pytest.mark.parametrize("axis", [-1, None])
def test_embedding_with_a_scale_for_each_column_becomes_a_float_one(ids, axis, tmp_path):
    scales, zeros = parameters(2000)
    table = codes("uint8", slices.RNG.integers(0, 256, [30, 2000]))
    to = len(ids) if axis is None else axis
    nodes = [node("Gather", "table ids", "rows"), dq("rows s z", "y", "dq", axis=to),
             node("Neg", "y", "out")]
    proto = model(nodes, [helper.make_tensor_value_info("ids", TensorProto.INT64, ids)],
                  [value("out", shape=[*ids, 2000])],
                  [table.tensor("table"), scales.tensor("s"), zeros.tensor("z")])
    source = save(proto, tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq")
    assert (op_types(stripped), report["left"]) == (["Gather", "Neg"], [])
    assert names(stripped) == ["table_DequantizeLinear_Output"]
    made = initializer(stripped, "table_DequantizeLinear_Output")
    np.testing.assert_array_equal(made.codes, dequantized(table, scales, zeros, axis=1).codes)
    same_bits(source, tmp_path / "out.onnx", {"ids": slices.RNG.integers(0, 30, ids)})


def test_input_and_output_of_the_model_become_float_with_their_axes(tmp_path):
    scales, zeros = parameters(4)
    nodes = [node("Transpose", "image", "t", perm=[0, 2, 3, 1]), dq("t s z", "a", "dq", axis=3),
             node("Neg", "a", "b"), node("Neg", "b", "c"), q("c s z", "d", "q", axis=-1),
             node("Transpose", "d", "result", perm=[3, 0, 1, 2])]
    proto = model(nodes, [value("image", "uint8", SHAPE)],
                  [value("result", "uint8", [4, 2, 6, 6])],
                  [scales.tensor("s"), zeros.tensor("z")],
                  value_info=[value("c", shape=[2, 6, 6, 4])])
    source = save(proto, tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq", "--clip", "never")
    assert (op_types(stripped), report["left"]) == (["Transpose", "Neg", "Neg", "Transpose"], [])
    assert [(c["name"], c["axis"]) for c in report["inputs_changed"] + report["outputs_changed"]
            ] == [("image", 1), ("result", 0)]
    image = slices.RNG.integers(0, 256, SHAPE, np.uint8)

    def as_floats(array, axis):
        return dequantized(codes("uint8", array), scales, zeros, axis=axis).array()
    [before] = session(source).run(None, {"image": image})
    [after] = session(tmp_path / "out.onnx").run(None, {"image": as_floats(image, 1)})
    np.testing.assert_array_equal(as_floats(before, 0), after)


def test_greatest_of_each_slice_is_the_greatest_float(tmp_path):
    """ArgMax compares numbers of one scale where its axis is another one."""
    scales, zeros = parameters(4, same_zero=True)
    nodes = [q("in s z", "a", "q", axis=1), node("ArgMax", "a", "out", "arg", axis=-1)]
    out = helper.make_tensor_value_info("out", TensorProto.INT64, [2, 4, 6, 1])
    source = save(model(nodes, [value("in", shape=SHAPE)], [out],
                        [scales.tensor("s"), zeros.tensor("z")]), tmp_path / "in.onnx")
    stripped, report = convert(source, "--strip-qdq", "--clip", "never")
    assert (op_types(stripped), report["left"]) == (["ArgMax"], [])
    same_bits(source, tmp_path / "out.onnx", {"in": grid(SHAPE, 1, scales, zeros)})


def drawn():
    """A move of a random shape, as a node, its constants, and what numpy computes."""
    shape = slices.RNG.choice([1, 2, 2, 3, 4, 6], slices.RNG.integers(1, 5)).tolist()
    rank, size = len(shape), int(np.prod(shape))
    axis = int(slices.RNG.integers(rank))
    kind = slices.RNG.choice(["Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Concat",
                       "Slice", "Gather", "Expand", "Tile"])
    if kind == "Transpose":
        perm = slices.RNG.permutation(rank).tolist()
        return shape, kind, {"perm": perm}, [], lambda x: x.transpose(perm)
    if kind == "Reshape":
        to = []
        while (left := size // int(np.prod(to, dtype=int))) > 1 or slices.RNG.integers(2):
            to.append(int(slices.RNG.choice([d for d in range(1, left + 1) if left % d == 0])))
        return shape, kind, {}, [to], lambda x: x.reshape(to)
    if kind == "Flatten":
        return (shape, kind, {"axis": axis}, [],
                lambda x: x.reshape(int(np.prod(shape[:axis], dtype=int)), -1))
    if kind == "Squeeze":
        ones = [i - rank * int(slices.RNG.integers(2)) for i in range(rank) if shape[i] == 1]
        return shape, kind, {}, [ones[:3]], lambda x: x.squeeze(tuple(ones[:3]))
    if kind == "Unsqueeze":
        axes = sorted(slices.RNG.choice(rank + 2, 2, replace=False).tolist())
        return shape, kind, {}, [axes], lambda x: np.expand_dims(x, tuple(axes))
    if kind == "Slice":
        step = int(slices.RNG.choice([1, -1]))
        return (shape, kind, {}, [[0 if step > 0 else -1], [9 * step], [axis - rank], [step]],
                lambda x: np.flip(x, axis) if step < 0 else x)
    if kind == "Gather":
        indices = [[], [shape[axis]], [2, 1]][slices.RNG.integers(3)]
        at = slices.RNG.integers(0, shape[axis], indices)
        return shape, kind, {"axis": axis}, [at], lambda x: x.take(at, axis)
    if kind == "Concat":
        return shape, kind, {"axis": axis - rank}, ["x"], lambda x: np.concatenate([x, x], axis)
    if kind == "Expand":
        to = [2, *(d if d > 1 else int(slices.RNG.choice([1, 3])) for d in shape)]
        return shape, kind, {}, [to], lambda x: np.broadcast_to(x, to)
    times = slices.RNG.choice([1, 2], rank).tolist()
    return shape, kind, {}, [times], lambda x: np.tile(x, times)


def test_moves_of_random_shapes_keep_what_numpy_keeps(tmp_path):
    """Each region goes if and only if the slices of its QuantizeLinear are those of its
    DequantizeLinear: numpy moves the index of its slice with each element. Slices and Gathers
    along the axis itself stay, also those that change nothing."""
    nodes, inputs, outputs, tensors, feeds, kept = [], [], [], [], {}, {}
    while len(kept) < 600:
        shape, kind, attributes, arguments, compute = drawn()
        axis, n = int(slices.RNG.integers(len(shape))), len(kept)
        scales, zeros = parameters(shape[axis])
        along = [-1 if i == axis else 1 for i in range(len(shape))]
        index = compute(np.broadcast_to(np.arange(shape[axis]).reshape(along), shape))
        places = [i for i in range(index.ndim) if index.shape[i] == shape[axis]]
        if shape[axis] == 1 or not places:
            continue
        to = int(slices.RNG.choice(places))
        along = [-1 if i == to else 1 for i in range(index.ndim)]
        at = attributes.get("axis", arguments[2][0] if kind == "Slice" else None)
        kept[f"dq{n}"] = bool(np.all(index == np.arange(shape[axis]).reshape(along)) and not (
            kind in ("Slice", "Gather") and at % len(shape) == axis))
        more = {f"m{n}_{k}": a for k, a in enumerate(arguments) if not isinstance(a, str)}
        names = " ".join([f"a{n}", *(more or [f"a{n}"] * len(arguments))])
        nodes += [q(f"in{n} s{n} z{n}", f"a{n}", f"q{n}", axis=axis),
                  node(kind, names, f"b{n}", f"move{n}", **attributes),
                  dq(f"b{n} s{n} z{n}", f"c{n}", f"dq{n}",
                     axis=to - int(slices.RNG.choice([0, index.ndim]))),
                  node("Identity", f"c{n}", f"out{n}")]
        tensors += [scales.tensor(f"s{n}"), zeros.tensor(f"z{n}"),
                    *(ints(k, a) for k, a in more.items())]
        inputs.append(value(f"in{n}", shape=shape))
        outputs.append(value(f"out{n}", shape=index.shape))
        feeds[f"in{n}"] = grid(shape, axis, scales, zeros)
    proto = onnx.shape_inference.infer_shapes(model(nodes, inputs, outputs, tensors))
    source = save(proto, tmp_path / "in.onnx")
    _, report = convert(source, "--strip-qdq", "--clip", "never")
    left = {name: why for name, why in reasons(report).items() if name.startswith("dq")}
    assert {d: left.get(d) for d in kept if kept[d] == (d in left)} == {}
    assert 100 < sum(kept.values()) < 500
    same_bits(source, tmp_path / "out.onnx", feeds)


def test_codes_of_bounded_numbers_need_no_clip(tmp_path):
    """The numbers of a Sigmoid are within the range of each slice."""
    scales = floats(np.array([2, 3, 4, 5]) / 255)
    nodes = [node("Sigmoid", "in", "x"), q("x s", "a", "q", axis=1),
             node("Transpose", "a", "b", perm=[0, 2, 1]), dq("b s", "c", "dq", axis=2),
             node("Identity", "c", "out")]
    proto = model(nodes, [value("in", shape=[2, 4, 6])], [value("out", shape=[2, 6, 4])],
                  [scales.tensor("s")], value_info=[value("x", shape=[2, 4, 6])])
    stripped, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq")
    assert (op_types(stripped), report["left"]) == (["Sigmoid", "Transpose", "Identity"], [])


def test_many_regions_in_linear_time(tmp_path):
    """Thousands of values with scales of slices, and a shape told for each."""
    count = 3000
    scales, zeros = parameters(4)
    nodes, told = [q("in s z", "a", "q", axis=1)], [value("a", "uint8", SHAPE)]
    for i in range(count):
        nodes += [node("Transpose", "a", f"t{i}", perm=[0, 2, 3, 1]),
                  dq(f"t{i} s z", f"y{i}", f"dq{i}", axis=-1)]
        told += [value(f"t{i}", "uint8", [2, 6, 6, 4])]
    proto = model(nodes, [value("in", shape=SHAPE)],
                  [value(f"y{i}", shape=[2, 6, 6, 4]) for i in range(count)],
                  [scales.tensor("s"), zeros.tensor("z")], value_info=told)
    _, report = convert(save(proto, tmp_path / "in.onnx"), "--strip-qdq", "--clip", "never")
    assert report["left"] == []
