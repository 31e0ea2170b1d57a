"""dequant.tensorflow: the formulas of docs/numerics.md in numpy, the page of r1.4, and TensorFlow
itself."""

import ml_dtypes
import numpy as np
import pytest

import dequant
from tensorflow_support import (MISSING, MODES, TYPES, Node, TensorFlow, all_codes, edge_ranges,
                                random_ranges)
from tensors import same_bits
from test_tensorflow_documented import page

F = np.float32
SPAN = {"quint8": (0, 255), "quint16": (0, 65535), "qint8": (-128, 127), "qint16": (-32768, 32767),
        "qint32": (-2**31, 2**31)}
# of qint32 in SCALED: what TensorFlow casts to int, which cannot hold it
FIRST_UNDEFINED = 2147483584


def formula(name, mode, narrow_range, q, low, high):
    """Each operation is one of float32, but for the division of MIN_FIRST."""
    lowest, highest = map(F, SPAN[name])
    low, high, x = F(low), F(high), q.astype(F)
    with np.errstate(all="ignore"):
        if mode == "MIN_COMBINED":
            span, half = F(highest - lowest), F(-lowest)
            return ((x + half) * ((high - low) / span) + low).astype(F)
        if mode == "MIN_FIRST":
            steps = {8: 255.0, 16: 65535.0, 32: 2.0**32 - 1}[q.dtype.itemsize * 8]
            s = F(np.float64(high - low) / steps)
            ratio = low / s
            whole = F(np.trunc(np.float64(ratio) + np.copysign(0.5, ratio))) if np.isfinite(
                ratio) else ratio
            grid = low if low == high else whole * s
            return ((grid - lowest * s) + x * s).astype(F)
        s = high / highest
        if lowest < 0:
            bottom = F(lowest + 1) if narrow_range and name != "qint32" else lowest
            a = low / bottom
            s = s if a < s else a
        return (x * s).astype(F)


def ranges_for(rng, count):
    edges = edge_ranges()
    return np.concatenate([random_ranges(rng, count), edges[rng.permutation(len(edges))[:count]]])


@pytest.mark.parametrize("narrow_range", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TYPES)
def test_bits_are_those_of_the_formulas(name, mode, narrow_range, rng):
    q = all_codes(name, rng)[:: 1 if name != "qint32" else 16]
    ranges = ranges_for(rng, 60 if q.size == 256 else 6)
    want = np.stack([formula(name, mode, narrow_range, q, low, high) for low, high in ranges])
    got = [dequant.tensorflow.dequantize(q, low, high, mode, narrow_range=narrow_range)
           for low, high in ranges]
    same_bits(np.stack(got), want)
    if mode != "MIN_FIRST":
        x = np.broadcast_to(q, want.shape).T
        y = dequant.tensorflow.dequantize(x, ranges[:, 0], ranges[:, 1], mode, axis=-1,
                                          narrow_range=narrow_range)
        same_bits(y, want.T)
    if mode == "MIN_COMBINED":  # which alone has other outputs
        with np.errstate(all="ignore"):
            y = dequant.tensorflow.dequantize(q, *ranges[0], dtype="bfloat16")
            same_bits(y, want[0].astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TYPES)
def test_documented_semantics_are_those_of_the_page(name, mode, rng):
    q = all_codes(name, rng)[:: 1 if name != "qint32" else 16]
    for low, high in ranges_for(rng, 30 if q.size == 256 else 4):
        y = dequant.tensorflow.dequantize(q, low, high, mode, version="r1.4",
                                          semantics="documented")
        same_bits(y, page(name, mode, q, low, high))


def test_arguments_are_those_of_tensorflow():
    x, low, high = np.uint8([[0, 128], [255, 1]]), np.float32([0, 1]), np.float32([255, 2])
    y = dequant.tensorflow.dequantize(x, low, high, "SCALED", "a name", 1, False, np.float32)
    same_bits(y, x * (high / F(255)))
    same_bits(dequant.tensorflow.dequantize(x, 0, 255), x.astype(F))
    same_bits(dequant.tensorflow.dequantize(x.view([("quint8", "u1")]), 0, 255), x.astype(F))
    for wrong in ({"axis": 2}, {"axis": -3}, {"narrow_range": True, "version": "r1.4"},
                  {"dtype": "float16"}):
        with pytest.raises(ValueError):
            dequant.tensorflow.dequantize(x, 0, 1, "SCALED", **wrong)


@pytest.fixture(scope="module")
def kernel():
    if MISSING:
        pytest.skip(MISSING)
    with TensorFlow() as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("narrow_range", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TYPES)
def test_tensorflow_gives_these_bits(kernel, name, mode, narrow_range, rng):
    x = all_codes(name, rng)
    ranges = ranges_for(rng, 100 if x.size == 256 else 8 if x.size == 65536 else 2)
    node = Node(x, ranges[:, 0].copy(), ranges[:, 1].copy(), name, mode, -1,
                narrow_range, each=True)
    got = np.stack([dequant.tensorflow.dequantize(x, low, high, mode, narrow_range=narrow_range)
                    for low, high in ranges])
    defined = slice(None) if (name, mode) != ("qint32", "SCALED") else x < FIRST_UNDEFINED
    same_bits(got[:, defined], kernel.dequantize(node)[:, defined])


@pytest.mark.slow
def test_arrays_and_tensors_of_tensorflow_are_read():
    tf = pytest.importorskip("tensorflow",
                             reason="NO TENSORFLOW: its arrays and tensors are not read")
    for name in TYPES:
        quantized = tf.bitcast(tf.constant(np.arange(6).astype(TYPES[name]).reshape(2, 3)),
                               getattr(tf, name))
        same_bits(dequant.onnx.dequantize_linear(quantized.numpy(), 1.0),
                  np.arange(6, dtype=F).reshape(2, 3))
    x = tf.constant(np.arange(6, dtype=np.uint8).reshape(2, 3))
    same_bits(dequant.onnx.dequantize_linear(x, 1.0), np.arange(6, dtype=F).reshape(2, 3))
    same_bits(dequant.onnx.dequantize_linear(x.numpy(), tf.constant(1.0)),
              np.arange(6, dtype=F).reshape(2, 3))
