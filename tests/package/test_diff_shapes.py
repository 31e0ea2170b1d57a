"""Shapes, indices and channels of dequant.diff(), against plain numpy."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dequant
from dequant import _floats

pytestmark = pytest.mark.filterwarnings("error")

NAN, INF = math.nan, math.inf


@st.composite
def shaped(draw):
    shape = draw(st.lists(st.integers(0, 5), max_size=4).map(tuple))
    values = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).normal(size=(2, *shape))
    axis = draw(st.integers(-len(shape), len(shape) - 1)) if shape else None
    return values[0], values[1], axis, draw(st.integers(1, 40))


@settings(max_examples=200, deadline=None)
@given(shaped())
def test_channels_and_places_in_boxes_of_any_size(case):
    a, b, axis, box = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_floats, "BOX", box)
        found = dequant.diff(a, b, axis=axis, worst=100)
    error = np.abs(b - a)
    assert found.shape == a.shape
    assert found.max_abs == error.max(initial=0)
    assert found.mean_abs == pytest.approx(error.mean() if a.size else 0.0, rel=1e-12)
    if a.size:
        assert found.worst.index == np.unravel_index(error.argmax(), a.shape)
        assert (found.worst.a, found.worst.b) == (a[found.worst.index], b[found.worst.index])
    if axis is None or not a.size:
        assert found.worst_channels == ()
        return
    assert found.axis == axis % a.ndim
    rows, noise = (np.moveaxis(v, axis, 0).reshape(a.shape[axis], -1) for v in (a, b - a))
    sqnr = 10 * np.log10((rows**2).sum(1) / (noise**2).sum(1))
    assert [c.index for c in found.worst_channels] == list(np.argsort(sqnr))
    assert [c.sqnr_db for c in found.worst_channels] == \
        pytest.approx(np.sort(sqnr), rel=1e-9, abs=1e-9)
    assert [c.max_abs for c in found.worst_channels] == list(np.abs(noise).max(1)[np.argsort(sqnr)])


@pytest.mark.parametrize("shape", [(100003,), (40000, 3), (3, 40000), (2, 3, 40001),
                                   (5, 90, 200, 2), (70000, 1)])
def test_tensors_of_many_boxes(shape):
    rng = np.random.default_rng(3)
    a = rng.normal(size=shape).astype(np.float32)
    b = a.copy()
    indices = [tuple(rng.integers(0, shape)) for _ in range(5)]
    for i, index in enumerate(indices):
        b[index] += i + 1
    for axis in range(len(shape)):
        found = dequant.diff(a, b, axis=axis)
        assert found.worst.index == indices[-1]
        assert found.identical == a.size - len(set(indices))
        assert {c.index for c in found.worst_channels} == {p[axis] for p in indices}
        noise = (b.astype(np.float64) - a)**2
        assert found.rmse == pytest.approx(math.sqrt(noise.mean()), rel=1e-12)
        assert found.sqnr_db == \
            pytest.approx(10 * math.log10((a.astype(np.float64)**2).sum() / noise.sum()))


def test_the_first_of_equal_errors_is_the_worst():
    a = np.zeros((3, 5))
    b = a.copy()
    b[1, 2] = b[2, 0] = -2.0
    assert dequant.diff(a, b, axis=1).worst == dequant.Worst((1, 2), 0.0, -2.0)
    b[2, 4] = b[2, 1] = NAN
    assert dequant.diff(a, b).worst.index == (2, 1)
    a = np.zeros(10**5)
    b = a.copy()
    b[[7, 50000, -1]] = NAN
    assert dequant.diff(a, b).worst.index == (7,)
    b[[7, 50000, -1]] = 1.0, 5e-324, 5e-324
    assert dequant.diff(a, b).max_ulp == 1023 * 2**52


def test_channels_with_mismatches_come_first():
    a = np.ones((4, 3))
    b = a + [[0, 0, 0], [0, 0, 9], [0, NAN, 0], [1, NAN, INF]]
    found = dequant.diff(a, b, axis=0)
    assert found.worst_channels == (dequant.Channel(3, INF, -INF, 2),
                                    dequant.Channel(2, INF, -INF, 1),
                                    dequant.Channel(1, 9.0,
                                                    pytest.approx(10 * math.log10(3 / 81)), 0))
    assert [c.index for c in dequant.diff(a, b, axis=0, worst=1).worst_channels] == [3]
    skipped = dequant.diff(a, b, axis=0, skip_mismatches=True).worst_channels
    assert [(c.index, c.max_abs, c.mismatches) for c in skipped] == \
        [(3, 1.0, 2), (2, 0.0, 1), (1, 9.0, 0)]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5), (2, 0, 10**9), (10**9, 0)])
def test_no_elements_are_no_errors(shape):
    for axis in (None, *range(len(shape))):
        if axis is not None and shape[axis] > 10:
            continue
        found = dequant.diff(np.zeros(shape, np.float32), np.zeros(shape, np.float16), axis=axis)
        assert found.exact and found.size == 0 and found.ulp == {"0": 0} and found.worst is None
        assert (found.max_abs, found.mean_abs, found.rmse, found.sqnr_db) == (0, 0, 0, INF)


def test_large_tensors_take_little_memory():
    a = np.broadcast_to(np.float32(1), (2**10, 2**13))
    b = np.broadcast_to(np.float16([1.5]), (2**10, 2**13))
    tracemalloc.start()
    try:
        found = dequant.diff(a, b, axis=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.mean_abs == 0.5 and found.ulp["257-512"] == a.size
    assert peak < 8 << 20
