"""Distances in units in the last place.

The distance of two numbers of a format is the number of steps from one to the other; a step leads
from a number to the next larger one. Subnormal numbers are steps, and +0 and -0 are one number. The
numbers continue beyond the largest finite number, as if exponents had no upper limit. A number
between two numbers of the format is rounded to the nearest, ties to even. A float32 value and a
float16 value are therefore 0 steps of float16 apart if the float32 value rounds to the float16
value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Format(NamedTuple):
    precision: int  # bits of the significand, the implicit one included
    smallest: int  # exponent of the smallest normal number


FORMATS = {"float16": Format(11, -14), "bfloat16": Format(8, -126), "float32": Format(24, -126),
           "float64": Format(53, -1022)}
LABELS = ("0", "1", "2", *(f"{2**i + 1}-{2**(i + 1)}" for i in range(1, 64)))


def coarser(a: str, b: str) -> str:
    """The format with fewer bits of precision."""
    return min(a, b, key=lambda name: FORMATS[name].precision)


def steps(a: NDArray[np.float64], b: NDArray[np.float64], name: str) -> NDArray[np.uint64]:
    """The distances of a and b in steps of a format. All numbers are finite."""
    ordinal_a, ordinal_b = (_ordinal(values, FORMATS[name]) for values in (a, b))
    across = np.signbit(a) != np.signbit(b)
    # A sum is at most 2^64 - 2^53. It wraps in int64; viewed as uint64 its bits are the sum.
    return np.where(across, ordinal_a + ordinal_b, np.abs(ordinal_a - ordinal_b)).view(np.uint64)


def histogram(distances: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The number of distances in each of the bins that LABELS names."""
    bins = np.where(distances > 0, _bit_length(distances - np.uint64(1)) + 1, 0)
    return np.bincount(bins, minlength=len(LABELS))


def _ordinal(values: NDArray[np.float64], form: Format) -> NDArray[np.int64]:
    """The number of steps from 0 to |value|, rounded to the format."""
    bits: NDArray[np.int64] = values.view(np.int64) & np.int64(2**63 - 1)
    drop = 53 - form.precision
    if drop == 0:
        return bits
    # The exponent bits are above the significand bits, so rounding up to the next power of two
    # carries into the exponent.
    even = (bits >> drop) & 1
    ordinals: NDArray[np.int64] = (bits + even + (2**(drop - 1) - 1)) >> drop
    ordinals -= (form.smallest + 1022) << (form.precision - 1)
    small = np.abs(values) < 2.0**form.smallest
    if small.any():
        ordinals[small] = np.rint(np.abs(values[small]) * 2.0**(form.precision - 1 - form.smallest))
    return ordinals


def _bit_length(numbers: NDArray[np.uint64]) -> NDArray[np.int32]:
    """int.bit_length() of each number. The low bits of large numbers are cleared first, because
    float64 would round them up."""
    low = np.uint64(2**11 - 1)
    exact: NDArray[np.float64] = np.where(numbers >> np.uint64(53), numbers & ~low,
                                          numbers).astype(np.float64)
    exponents: NDArray[np.int32] = np.frexp(exact)[1]
    return exponents
