"""Sums of float64 numbers and of their squares that neither overflow nor underflow."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

LOWEST = -1000  # not -1074: 2^1074 is too large for float64


class Moments:
    """The sums for each channel.

    Squares can exceed the range of float64. The numbers of a channel are therefore divided by a
    power of two above the largest number of the channel so far. A scaled square that underflows is
    too small to change the sum.
    """

    def __init__(self, channels: int) -> None:
        self._exponents = np.full(channels, LOWEST, np.intc)
        self._sums = np.zeros(channels)
        self._squares = np.zeros(channels)

    def add(self, channels: slice, numbers: NDArray[np.float64],
            largest: NDArray[np.float64]) -> None:
        """Adds non-negative numbers of the shape (outer, channel, inner). `largest` has the largest
        number of each channel."""
        before = self._exponents[channels]
        after = np.maximum(before, np.frexp(largest)[1])
        scaled = numbers * np.ldexp(1.0, -after)[:, None]
        self._sums[channels] = np.ldexp(self._sums[channels],
                                        before - after) + scaled.sum(axis=(0, 2))
        self._squares[channels] = (np.ldexp(self._squares[channels], 2 * (before - after))
                                   + np.einsum("oci,oci->c", scaled, scaled))
        self._exponents[channels] = after

    def total(self) -> Moments:
        """The sums of all channels together, as Moments of one channel."""
        total = Moments(1)
        total._exponents[0] = self._exponents.max(initial=LOWEST)
        down = self._exponents - total._exponents[0]
        total._sums[0] = np.ldexp(self._sums, down).sum()
        total._squares[0] = np.ldexp(self._squares, 2 * down).sum()
        return total

    def mean(self, count: int) -> NDArray[np.float64]:
        return np.ldexp(self._sums / count, self._exponents)

    def rms(self, count: int) -> NDArray[np.float64]:
        """The root of the mean square."""
        return np.ldexp(np.sqrt(self._squares / count), self._exponents)

    def decibels_above(self, noise: Moments) -> NDArray[np.float64]:
        """The ratio of the sums of squares in decibels; infinite if the noise is zero."""
        ratio = (10 * (np.log10(self._squares) - np.log10(noise._squares))
                 + 20 * math.log10(2) * (self._exponents - noise._exponents))
        return np.where(noise._squares == 0, np.inf, ratio)
