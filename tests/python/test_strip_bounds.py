"""`dequant convert --strip-qdq` omits a Clip only where the value before a pair is bounded: the
bounds of joined values, and behind a Clip whose limits are computed."""

import numpy as np
import pytest
from onnx import numpy_helper

from arithmetic import codes, floats
from support import convert, dq, model, node, op_types, q, save, session, value
from test_strip_clip import limits

#: The range of the pair is [0, 255 / 128].
SCALE, ZERO = floats(1 / 128), codes("uint8", 0)
INPUT = np.array([[[[5, 1, -3], [5.5, 0.5, 900]]]], "f4")
BOUNDS = [floats(0).tensor("low"), floats(6).tensor("high")]
CLIP = node("Clip", "in low high", "r")
RELU = node("Relu", "in", "open")


def stripped(folder, before, initializers=(), inputs=()):
    """in -> the nodes `before` -> a -> pair -> out: the converted model, and what ONNX Runtime
    computes from both."""
    nodes = [*before, q("a s z", "aq"), dq("aq s z", "out")]
    infos = [value("in", shape=[1, 1, 2, 3]), *(value(name, shape=[]) for name in inputs)]
    proto = model(nodes, infos, [value("out", shape=["n", "c", "h", "w"])],
                  [SCALE.tensor("s"), ZERO.tensor("z"), *BOUNDS, *initializers])
    converted, report = convert(save(proto, folder / "in.onnx"), "--strip-qdq")
    assert report["left"] == []
    feeds = {"in": INPUT} | {name: np.array(number, "f4") for name, number in dict(inputs).items()}
    return converted, *(session(folder / name).run(None, feeds)[0]
                        for name in ("in.onnx", "out.onnx"))


JOINED = {
    "Concat": ([node("Concat", "r r", "a", axis=0)], []),
    "Where": ([node("Where", "flag r r", "a")], [numpy_helper.from_array(np.array(True), "flag")]),
    "AveragePool": ([node("AveragePool", "r", "a", kernel_shape=[1, 1])], []),
    "Pad": ([node("Pad", "r pads", "a")],
            [numpy_helper.from_array(np.array([0, 0, 0, 0, 0, 0, 0, 1]), "pads")]),
    "Trilu": ([node("Trilu", "r", "a")], []),
}


@pytest.mark.parametrize("operator", JOINED)
def test_joined_values_with_upper_bounds_counted_as_open_above(operator, tmp_path):
    """The saturation of the pair was lost: 5.5 in place of 1.99."""
    joins, more = JOINED[operator]
    converted, before, after = stripped(tmp_path, [CLIP, *joins], more)
    assert op_types(converted).count("Clip") == 2
    np.testing.assert_allclose(after, before, atol=SCALE.values() / 2)


def test_bound_of_a_value_joined_with_one_that_is_open_above_was_forgotten(tmp_path):
    before = [CLIP, RELU, node("Concat", "open r", "c", axis=0)]
    converted, before, after = stripped(tmp_path, [*before, node("Relu", "c", "a")])
    assert op_types(converted).count("Clip") == 2
    np.testing.assert_allclose(after, before, atol=SCALE.values() / 2)


@pytest.mark.parametrize("operator", JOINED)
def test_joined_values_that_are_open_above_need_no_clip(operator, tmp_path):
    joins, more = JOINED[operator]
    joins[0].input[:] = [i.replace("r", "open") if i == "r" else i for i in joins[0].input]
    converted, *_ = stripped(tmp_path, [RELU, *joins], more)
    assert "Clip" not in op_types(converted)


@pytest.mark.parametrize("nodes, inputs", [
    ([node("Clip", "limit lowest one", "top"), node("Clip", "in low top", "a")], {"limit": -5}),
    ([node("Sigmoid", "in", "g"), node("Clip", "g limit", "a")], {"limit": 5}),
    ([node("Sigmoid", "in", "g"), node("Clip", "g limit high", "a")], {"limit": 5})])
def test_computed_limit_of_a_clip_counted_as_the_bound_that_it_has_itself(nodes, inputs, tmp_path):
    """A Clip to [0, limit] was taken to give no number below 0, also where the limit is -5."""
    converted, before, after = stripped(tmp_path, nodes, [
        floats(-5).tensor("lowest"), floats(1).tensor("one")], inputs)
    assert limits_of_pair(converted) == {"min": 0, "max": 255 / 128}
    np.testing.assert_allclose(after, before, atol=SCALE.values() / 2)


def limits_of_pair(proto):
    others = [n for n in proto.graph.node if n.op_type == "Clip" and n.output[0] != "out"]
    for n in others:
        proto.graph.node.remove(n)
    return limits(proto)
