"""Models whose nodes move codes between a QuantizeLinear and a DequantizeLinear, where slices along
an axis have scales of their own."""

import json

import numpy as np
import onnx
from onnx import numpy_helper

from arithmetic import codes, floats
from support import dequant, dq, model, node, q, reasons, save, session, value

RNG = np.random.default_rng(17)


def same_numbers():
    """In any order of tests."""
    global RNG
    RNG = np.random.default_rng(17)


def ints(name, numbers):
    return numpy_helper.from_array(np.array(numbers, np.int64), name)


def parameters(count, same_zero=False):
    """Scales of powers of two and other zero points for each slice; some scales are negative."""
    scales = np.exp2(RNG.integers(-3, 3, count)) * RNG.choice([1, 3, -1], count)
    zeros = np.full(count, 7) if same_zero else RNG.integers(0, 256, count)
    return floats(np.abs(scales) if same_zero else scales), codes("uint8", zeros)


def grid(shape, axis, scales, zeros):
    """Numbers that the pair does not change."""
    along = [-1 if i == axis else 1 for i in range(len(shape))]
    steps = RNG.integers(0, 256, shape) - zeros.values().reshape(along)
    return (steps * scales.values().reshape(along)).astype("f4")


def shape_of(proto, name):
    made = onnx.shape_inference.infer_shapes(proto, data_prop=True)
    [found] = [v for v in (*made.graph.value_info, *made.graph.output) if v.name == name]
    return [d.dim_value if d.HasField("dim_value") else d.dim_param or "n"
            for d in found.type.tensor_type.shape.dim]


def sliced(move, more, shape, axis, to, opset=21, count=None, told=True, written=None, **options):
    """in -> QuantizeLinear -> the move -> DequantizeLinear -> Identity -> out. `written` are the
    axes as attributes have them; None is no attribute."""
    scales, zeros = parameters(count or shape[axis], **options)
    first, last = ({} if a is None else {"axis": a} for a in written or (axis, to))
    nodes = [q("in s z", "a", "q", **first), move, dq("b s z", "c", "dq", **last),
             node("Identity", "c", "out")]
    proto = model(nodes, [value("in", shape=shape)], [value("out", shape=None)],
                  [scales.tensor("s"), zeros.tensor("z"), *more], opset=opset)
    found = shape_of(proto, "out")
    proto.graph.output[0].CopyFrom(value("out", shape=found))
    if told:
        proto.graph.value_info.extend([value("a", "uint8", shape), value("b", "uint8", found)])
    return proto, scales, zeros


def same_bits(source, target, feeds, feeds_after=None):
    before = session(source).run(None, feeds)
    after = session(target).run(None, feeds_after or feeds)
    for a, b in zip(before, after, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()


SHAPE = [2, 4, 6, 6]
RESHAPE = node("Reshape", "a shape", "b", "move")
PADS = [0, 0, 1, 2, 0, 0, 1, 0]

#: The move, its constants, the shape and the axis before it, the axis behind it.
KEPT = {
    "Transpose": (node("Transpose", "a", "b", perm=[0, 2, 3, 1]), [], SHAPE, 1, 3),
    "Transpose back": (node("Transpose", "a", "b", perm=[0, 3, 1, 2]), [], SHAPE, 3, 1),
    "Transpose in reverse": (node("Transpose", "a", "b"), [], [2, 3, 5], 0, 2),
    "Reshape": (RESHAPE, [ints("shape", [2, 4, 36])], SHAPE, 1, 1),
    "Reshape of the first": (RESHAPE, [ints("shape", [4, -1])], [4, 2, 9], 0, 0),
    "Reshape of the last": (RESHAPE, [ints("shape", [-1, 6])], SHAPE, 3, 1),
    "Reshape with equal sizes": (RESHAPE, [ints("shape", [4, 4, 2, 2])], [4, 4, 4], 1, 1),
    "Reshape around ones": (RESHAPE, [ints("shape", [4, 1, 6, 1])], [1, 4, 1, 6], 1, 0),
    "Reshape with zeros": (RESHAPE, [ints("shape", [0, 0, -1])], SHAPE, 1, 1),
    "Flatten": (node("Flatten", "a", "b", axis=1), [], [4, 3, 5], 0, 0),
    "Flatten before": (node("Flatten", "a", "b", axis=3), [], SHAPE, 3, 1),
    "Flatten of ones": (node("Flatten", "a", "b"), [], [2, 5, 1, 1], 1, 1),
    "Squeeze": (node("Squeeze", "a axes", "b"), [ints("axes", [0, 2])], [1, 4, 1, 6], 3, 1),
    "Unsqueeze": (node("Unsqueeze", "a axes", "b"), [ints("axes", [0, -1])], [4, 6], 1, 2),
    "Identity and Transpose": (node("Transpose", "a", "b", perm=[1, 0]), [], [1, 4], 1, 0),
    "Concat": (node("Concat", "a a", "b", axis=-1), [], SHAPE, 1, 1),
    "Slice": (node("Slice", "a from to axes", "b"),
              [ints("from", [1]), ints("to", [5]), ints("axes", [-2])], SHAPE, 1, 1),
    "Slice of the first": (node("Slice", "a from to", "b"), [ints("from", [1]), ints("to", [2])],
                           SHAPE, 1, 1),
    "Gather before": (node("Gather", "a at", "b"), [ints("at", [[1, 0, 1]])], SHAPE, 3, 4),
    "Gather behind": (node("Gather", "a at", "b", axis=-1), [ints("at", [[1, 0, 1]])], SHAPE, 1,
                      1),
    "Gather of one": (node("Gather", "a at", "b"), [ints("at", 1)], SHAPE, 2, 1),
    "MaxPool": (node("MaxPool", "a", "b", kernel_shape=[3, 3], pads=[1, 1, 1, 1]), [], SHAPE, 1,
                1),
    "Pad": (node("Pad", "a pads pad", "b"), [ints("pads", PADS), codes("uint8", 7).tensor("pad")],
            SHAPE, 1, 1),
    "Pad of axes": (node("Pad", "a pads pad axes", "b"),
                    [ints("pads", [1, 2, 0, 0]), ints("axes", [-1, 1]),
                     codes("uint8", 7).tensor("pad")], SHAPE, 2, 2),
    "Expand": (node("Expand", "a shape", "b"), [ints("shape", [3, 4, 6])], [4, 1], 0, 1),
    "Tile": (node("Tile", "a times", "b"), [ints("times", [2, 1, 3, 1])], SHAPE, 1, 1),
    "ReverseSequence": (node("ReverseSequence", "a long", "b", batch_axis=1, time_axis=0),
                        [ints("long", [2, 1, 0, 1])], SHAPE, 1, 1),
}


def ordered(name):
    """Operators that need scales above zero and, to pad, one zero point."""
    return {"same_zero": name.split()[0] in ("MaxPool", "Pad")}


def stays(proto, tmp_path, reason):
    source = save(proto, tmp_path / "in.onnx")
    done = dequant("convert", source, "-o", tmp_path / "out.onnx", "--strip-qdq", "--clip", "never",
                   "--json")
    found = reasons(json.loads(done.stdout))
    assert reason in found["dq"]
    assert found["q"].startswith("dq, which dequantizes it, stays: ")
    assert (tmp_path / "out.onnx").read_bytes() == source.read_bytes()
