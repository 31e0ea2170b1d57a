"""Distances in units in the last place.

The numbers of a format lie on a line, one step from each to the next: subnormal numbers too, and
both zeros are one place. The line goes on beyond the largest number, and a number that lies between
two places is at the nearest one, ties to even. So float32 and float16 values are 0 steps of float16
apart where one is what the other rounds to.
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
    """The one of two formats that has the fewer bits of precision."""
    return min(a, b, key=lambda name: FORMATS[name].precision)


def steps(a: NDArray[np.float64], b: NDArray[np.float64], name: str) -> NDArray[np.uint64]:
    """How many steps of a format lie between a and b, all of them finite."""
    place_a, place_b = (_place(values, FORMATS[name]) for values in (a, b))
    across = np.signbit(a) != np.signbit(b)
    # A sum may be up to 2^64 - 2^53: in int64 it wraps, and the bits are right.
    return np.where(across, place_a + place_b, np.abs(place_a - place_b)).view(np.uint64)


def histogram(distances: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How many distances each of the LABELS has."""
    bins = np.where(distances > 0, _bit_length(distances - np.uint64(1)) + 1, 0)
    return np.bincount(bins, minlength=len(LABELS))


def _place(values: NDArray[np.float64], form: Format) -> NDArray[np.int64]:
    """The place of |value|: its number, counted from zero."""
    bits: NDArray[np.int64] = values.view(np.int64) & np.int64(2**63 - 1)
    drop = 53 - form.precision
    if drop == 0:
        return bits
    # The exponent stands above the significand, so rounding up to the next power of two carries
    # into it.
    even = (bits >> drop) & 1
    places: NDArray[np.int64] = (bits + even + (2**(drop - 1) - 1)) >> drop
    places -= (form.smallest + 1022) << (form.precision - 1)
    small = np.abs(values) < 2.0**form.smallest
    if small.any():
        places[small] = np.rint(np.abs(values[small]) * 2.0**(form.precision - 1 - form.smallest))
    return places


def _bit_length(numbers: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Of int.bit_length(); low bits of large numbers are cleared, since float64 would round them
    up."""
    low = np.uint64(2**11 - 1)
    exact: NDArray[np.float64] = np.where(numbers >> np.uint64(53), numbers & ~low,
                                          numbers).astype(np.float64)
    exponents: NDArray[np.int32] = np.frexp(exact)[1]
    return exponents
