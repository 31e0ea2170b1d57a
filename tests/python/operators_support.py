"""What the tests of quantized operators share: float models to quantize, and comparisons."""

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

from support import dequant, model, node, op_types, random_feeds, save, session, value


FLOATS = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def packed(codes, bits):
    """Codes along the last axis in bytes, the first in the lowest bits."""
    per = 8 // bits
    codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % per)])
    codes = codes.reshape(*codes.shape[:-1], -1, per).astype("u1")
    return np.bitwise_or.reduce(codes << (np.arange(per, dtype="u1") * bits), axis=-1)


def sqnr(exact, approximate):
    """The signal-to-quantization-noise ratio in dB."""
    noise = np.square(exact.astype("f8") - approximate.astype("f8")).sum()
    return np.inf if noise == 0 else 10 * np.log10(np.square(exact.astype("f8")).sum() / noise)


def outputs(path, feeds):
    return session(path).run(None, feeds)


def samples(path):
    """Inputs of a model, enough that errors of weights and of activations do not cancel out."""
    rng = np.random.default_rng(1)
    return [random_feeds(session(path), rng, batch=64) for _ in range(8)]


def least_sqnr(original, other):
    """The SQNR over all samples() of the output that has the least, beside the float original."""
    pairs = [(outputs(original, feeds), outputs(other, feeds)) for feeds in samples(original)]
    return min(sqnr(*(np.concatenate([p[side][i].ravel() for p in pairs]) for side in (0, 1)))
               for i in range(len(pairs[0][0])))


def assert_not_worse(original, quantized, stripped):
    """Without its quantized arithmetic a model is as near to the float original as with it."""
    before, after = least_sqnr(original, quantized), least_sqnr(original, stripped)
    assert before > 10, "the quantized model computes something else"
    assert after >= before - 0.01
