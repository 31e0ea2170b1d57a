"""`dequant op` on arrays, and the arithmetic of its dialects written down once more in numpy."""

import numpy as np
import pytest

from support import dequant

F = np.float32
NUMPY_HAS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float16"]


class Op:
    """The command in a folder: arrays become files, options are given as they are."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, **arrays):
        """Options that name the files of these arrays: x_type is no array but --x-type."""
        options = []
        for name, array in arrays.items():
            if isinstance(array, np.ndarray | np.generic):
                np.save(self.folder / f"{name}.npy", array)
                array = f"{name}.npy"
            options.append(f"--{name.replace('_', '-')}={array}")
        return options

    def run(self, dialect, *options, code=0, **arrays):
        return dequant("op", dialect, *self.write(**arrays), "-o", "y.npy", *options, code=code,
                       cwd=self.folder)

    def __call__(self, dialect, *options, **arrays):
        self.run(dialect, *options, "--force", **arrays)
        return np.load(self.folder / "y.npy")


@pytest.fixture
def op(tmp_path):
    return Op(tmp_path)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def typed(name, element):
    """The option for a type that numpy lacks."""
    return {} if element in NUMPY_HAS else {f"{name}_type": element}


def same_bits(actual, expected):
    """The same type, shape and bits; any NaN is like any other."""
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    nan = np.isnan(actual) & np.isnan(expected)
    unsigned = f"u{actual.itemsize}"
    different = (np.ascontiguousarray(actual).view(unsigned)
                 != np.ascontiguousarray(expected).view(unsigned)) & ~nan
    assert not different.any(), (
        f"{different.sum()} of {different.size} differ, first at {np.argwhere(different)[0]}: "
        f"{actual[different][0]!r}, not {expected[different][0]!r}")


def linear(x, scale, zero, dtype=None):
    """(x - zero) * scale in float32 of arrays that broadcast; x - zero is exact."""
    with np.errstate(all="ignore"):
        difference = np.asarray(x, np.float64) - np.asarray(zero, np.float64)
        y = difference.astype(F) * np.asarray(scale, F)
        return np.asarray(y, dtype or scale.dtype)


def blocks(param, shape):
    """A parameter repeated to the shape of x: each of its elements belongs to a block of x."""
    for axis, size in enumerate(shape):
        param = np.repeat(param, size // param.shape[axis], axis)
    return param


def away(x):
    """Rounds to whole numbers as C does: halves away from zero."""
    return np.copysign(np.floor(np.abs(x.astype(np.float64)) + 0.5), x).astype(F)


def tensorflow(x, low, high, mode, narrow=False):
    """TensorFlow's kernel in float32, each line with its roundings; low and high broadcast to x."""
    info, q = np.iinfo(x.dtype), x.astype(F)
    low, high = np.asarray(low, F), np.asarray(high, F)
    lowest, steps = F(info.min), float(info.max) - info.min
    with np.errstate(all="ignore"):
        if mode == "MIN_COMBINED":
            return (q - lowest) * ((high - low) / F(steps)) + low
        if mode == "MIN_FIRST":
            s = ((high - low).astype(np.float64) / steps).astype(F)
            return (np.where(low == high, low, away(low / s) * s) - lowest * s) + q * s
        s = high / F(info.max)
        if info.min < 0:
            first = low / F(info.min + narrow)
            s = np.where(first < s, s, first)
        return q * s
