"""The bits of dequant are those of TensorFlow's own CPU kernel: every code of 8 and 16 bits, 2^20
codes of qint32, over ranges of every kind. As a program it prints the table of what was
compared."""

import sys

import numpy as np
import pytest

from tensorflow_support import (MISSING, SMALLEST_NORMAL, TYPES, Dequant, Node,
                                TensorFlow, all_codes, different, edge_ranges, random_ranges)

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

# Codes that TensorFlow casts to float and back to int, which cannot hold them.
FIRST_UNDEFINED = 2147483584
FORMS = [  # mode, narrow_range, one call for each pair of ranges, dtype
    ("MIN_COMBINED", False, True, "float32"), ("MIN_COMBINED", False, False, "float32"),
    ("MIN_COMBINED", False, False, "bfloat16"), ("MIN_COMBINED", False, True, "bfloat16"),
    ("MIN_FIRST", False, True, "float32"),
    ("SCALED", False, True, "float32"), ("SCALED", False, False, "float32"),
    ("SCALED", True, True, "float32"), ("SCALED", True, False, "float32"),
]
# The ranges of a node, see node_of(): in a call for each pair, and in one call on an axis.
COUNTS = {8: (25, 2000), 16: (8, 25), 32: (4, 4)}


def node_of(name, mode, narrow_range, each, dtype, count=None):
    """All codes of a type and `count` random pairs of ranges, and as many of edge values."""
    rng = np.random.default_rng([*name.encode(), *mode.encode(), narrow_range, each])
    x = all_codes(name, rng)
    count = count or COUNTS[x.dtype.itemsize * 8][0 if each else 1]
    edges = edge_ranges()
    ranges = np.concatenate([random_ranges(rng, count), edges[rng.permutation(len(edges))[:count]]])
    if not each:
        x = np.broadcast_to(x, (len(ranges), x.size)).copy()
    return Node(x, ranges[:, 0].copy(), ranges[:, 1].copy(), name, mode, -1 if each else 0,
                narrow_range, dtype, each=each)


def undefined(node):
    """Where TensorFlow casts out of range: qint32, SCALED, per tensor."""
    if (node.type, node.mode, node.each) != ("qint32", "SCALED", True):
        return np.zeros((len(node.min_range), node.x.shape[-1]), bool)
    return np.broadcast_to(node.x >= FIRST_UNDEFINED, (len(node.min_range), node.x.size))


def compare(kernel, dequant, node):
    """Codes compared; those that differ; those that differ and are undefined in TensorFlow."""
    want, got = kernel.dequantize(node), dequant.dequantize(node)
    apart = different(got, want)
    return apart.size, int(apart.sum()), int((apart & undefined(node)).sum())


@pytest.fixture(scope="module")
def shipped():
    with TensorFlow(keep_subnormals=False, onednn=True) as running:
        yield running


@pytest.fixture(scope="module")
def dequant():
    with Dequant() as command:
        yield command


@pytest.mark.parametrize("mode, narrow_range, each, dtype", FORMS)
@pytest.mark.parametrize("name", TYPES)
def test_bits_are_those_of_the_kernel(kernel, dequant, name, mode, narrow_range, each, dtype):
    count = 100 if mode == "MIN_FIRST" and TYPES[name]().itemsize == 1 else None
    node = node_of(name, mode, narrow_range, each, dtype, count)
    compared, apart, casts = compare(kernel, dequant, node)
    assert apart == casts, f"{apart - casts} of {compared} codes differ"
    assert (casts > 0) == undefined(node).any(), "the undefined casts are TensorFlow's own"


def test_undefined_casts_saturate_where_tensorflow_changes_the_sign(kernel, dequant):
    node = node_of("qint32", "SCALED", False, True, "float32", 4)
    casts = undefined(node)
    want, got = kernel.dequantize(node)[casts], dequant.dequantize(node)[casts]
    assert got.size > 0 and not different(got, -want).any()
    x = np.int32([FIRST_UNDEFINED - 1, FIRST_UNDEFINED, 2147483647])
    node = Node(x, np.float32(-1), np.float32(1), "qint32", "SCALED")
    assert dequant.dequantize(node).tolist() == [1 - 2.0**-24, 1, 1]


def meets_subnormals(node, y):
    """Pairs of ranges with a subnormal anywhere: in them, in their scales or in what they yield."""
    low, high = node.min_range, node.max_range
    with np.errstate(all="ignore"):
        parts = [low, high, high - low]
        for limit in (127, 128, 255):
            parts += [low / np.float32(limit), high / np.float32(limit),
                      (high - low) / np.float32(limit)]
    parts = np.stack([*parts, *y.T])
    return ((parts != 0) & (np.abs(parts) < SMALLEST_NORMAL)).any(0)


@pytest.mark.parametrize("mode, narrow_range", [("MIN_COMBINED", False), ("MIN_FIRST", False),
                                                ("SCALED", False), ("SCALED", True)])
def test_as_shipped_tensorflow_differs_only_where_it_flushes_subnormals(shipped, dequant, mode,
                                                                        narrow_range):
    node = node_of("qint8", mode, narrow_range, True, "float32", 24)
    y = dequant.dequantize(node)
    apart = different(y, shipped.dequantize(node)).any(1)
    expected = meets_subnormals(node, y)
    assert not (apart & ~expected).any()
    assert (apart & expected).any(), "TensorFlow no longer flushes: say so in docs/numerics.md"


def test_onednn_divides_the_minimum_by_one_where_narrow_range_says_nothing(shipped,
                                                                           kernel, dequant):
    x = np.uint8([1, 2, 255])
    node = Node(x, np.float32(3), np.float32(255), "quint8", "SCALED", narrow_range=True)
    assert kernel.dequantize(node).tolist() == [1, 2, 255]
    assert dequant.dequantize(node).tolist() == [1, 2, 255]
    assert shipped.dequantize(node).tolist() == [3, 6, 765]


ANSWERS = {"done": 0, "InvalidArgumentError": 2, "UnimplementedError": 4}


def assert_same_verdict(kernel, dequant, node):
    """Both accept the node, or refuse it for the same kind of reason."""
    answer = kernel.ask(node)
    code, message = dequant.ask(node)
    assert code == ANSWERS[answer], (node, answer, message)
    return answer


def qint8(shape, low, high, **attributes):
    return Node(np.zeros(shape, np.int8), np.zeros(low, np.float32),
                np.ones(high, np.float32), "qint8",
                **attributes)


@pytest.mark.parametrize("mode", ["SCALED", "MIN_FIRST"])
def test_axes_and_sizes_are_refused_where_the_kernel_refuses_them(kernel, dequant, mode):
    seen = set()
    for shape in ((), (4,), (2, 3), (2, 1), (0, 3), (2, 0)):
        for axis in (-1, 0, 1, 2, 2147483647):
            for size in ((), (0,), (1,), (2,), (3,)):
                node = qint8(shape, size, size, mode=mode, axis=axis)
                seen.add(assert_same_verdict(kernel, dequant, node))
    assert seen == {"done", "InvalidArgumentError",
                    *(["UnimplementedError"] * (mode == "MIN_FIRST"))}


def test_ranges_of_unequal_sizes_are_refused_as_by_the_kernel(kernel, dequant):
    for low in ((), (0,), (2,), (3,), (4,)):
        for high in ((), (0,), (2,), (3,), (4,)):
            for axis in (-1, 1):
                answer = assert_same_verdict(kernel, dequant, qint8((2, 3), low, high, axis=axis))
                assert (answer == "done") == (low == high == ((3,) if axis == 1 else ()))


def test_ranges_of_one_element_may_have_any_rank(kernel, dequant):
    for size in ((1,), (1, 1)):
        assert assert_same_verdict(kernel, dequant, qint8((2, 3), size, size)) == "done"


def test_modes_and_types_are_refused_as_by_the_kernel(kernel, dequant):
    for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED", "NONE", "scaled", ""):
        for dtype in ("float32", "bfloat16", "half", "float64"):
            assert_same_verdict(kernel, dequant, qint8((4,), (), (), mode=mode, dtype=dtype))


def test_an_axis_below_minus_one_is_refused_as_in_a_graph(kernel, dequant):
    """Eager execution takes it for -1, since only the shape function looks."""
    for axis in (-2, -10, -2147483648):
        assert kernel.ask(qint8((2, 3), (), (), axis=axis, interface="graph")) == "ValueError"
        assert dequant.ask(qint8((2, 3), (), (), axis=axis))[0] == 2


def test_the_axis_of_python_counts_from_the_back(kernel, dequant):
    for axis in (None, -2, -1, 0, 1, 2, 10):
        for size in ((), (2,), (3,)):
            node = qint8((2, 3), size, size, axis=axis, interface="python")
            assert_same_verdict(kernel, dequant, node)
    rng = np.random.default_rng(1)
    node = Node(rng.integers(-128, 128, (2, 3), np.int8), np.float32([-1, -2, -3]),
                np.float32([4, 5, 6]), "qint8", axis=-1, interface="python")
    assert not different(kernel.dequantize(node), dequant.dequantize(node)).any()


def test_a_python_axis_below_minus_the_rank_is_refused_where_python_wraps_it(kernel, dequant):
    node = qint8((2, 3), (2,), (2,), axis=-4, interface="python")
    assert kernel.ask(node) == "done"
    code, message = dequant.ask(node)
    assert code == 2 and "axis: -4" in message


def main():
    print(f"{'type':8}{'mode':14}{'narrow':8}{'ranges':14}{'dtype':10}"
          f"{'codes':>10}{'differ':>8}{'undefined':>11}")
    with TensorFlow() as kernel, Dequant() as dequant:
        for name in TYPES:
            for mode, narrow_range, each, dtype in FORMS:
                node = node_of(name, mode, narrow_range, each, dtype)
                compared, apart, casts = compare(kernel, dequant, node)
                form = f"{len(node.min_range)} {'calls' if each else 'on axis'}"
                print(f"{name:8}{mode:14}{str(narrow_range):8}{form:14}{dtype:10}"
                      f"{compared:10}{apart:8}{casts:11}", flush=True)


if __name__ == "__main__":
    sys.exit(MISSING or main())
