"""The running totals of diff(): two tensors are compared box by box."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._diff_result import Channel, Diff, Worst
from ._floats import Box, Floats, around
from ._moments import Moments
from ._ulp import LABELS, coarser, histogram, steps

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Totals:
    """The totals of two tensors; `axis` is the axis whose channels have totals of their own."""

    def __init__(self, a: Floats, b: Floats, axis: int | None) -> None:
        self._a, self._b, self._axis = a, b, axis
        self._ulp_dtype = coarser(a.dtype, b.dtype)
        self._ulp = np.zeros(len(LABELS), np.int64)
        self._identical = self._max_ulp = self._nans = self._infinities = 0
        self._first_mismatch: Worst | None = None
        self._largest: Worst | None = None
        self._largest_error = 0.0
        channels = 1 if axis is None else a.shape[axis]
        self._mismatches = np.zeros(channels, np.int64)
        self._peaks = np.zeros(channels)
        self._noise, self._signal = Moments(channels), Moments(channels)

    def add(self, box: Box) -> None:
        """Reads a box of both tensors and adds its errors to the totals."""
        a, b = self._a.read(box), self._b.read(box)
        same = a.view(np.int64) == b.view(np.int64)
        finite = np.isfinite(a) & np.isfinite(b)
        if not finite.all():
            same |= np.isnan(a) & np.isnan(b)
            self._add_mismatches(box, a, b, ~(finite | same))
            a, b = np.where(finite, a, 0.0), np.where(finite, b, 0.0)
        identical = int(np.count_nonzero(same))
        self._identical += identical
        self._ulp[0] += identical
        channels, shape = around(box, self._axis)
        signal = np.abs(a).reshape(shape)
        self._signal.add(channels, signal, signal.max(axis=(0, 2)))
        if identical < same.size:
            self._add_ulps(a, b, finite & ~same)
            self._add_errors(box, a, b)

    def _add_mismatches(self, box: Box, a: Array, b: Array, mismatch: Mask) -> None:
        nans = int(np.count_nonzero(np.isnan(a) != np.isnan(b)))
        self._nans += nans
        self._infinities += int(np.count_nonzero(mismatch)) - nans
        channels, shape = around(box, self._axis)
        self._mismatches[channels] += mismatch.reshape(shape).sum(axis=(0, 2))
        if self._first_mismatch is None and mismatch.any():
            self._first_mismatch = _pair(box, a, b, int(mismatch.argmax()))

    def _add_ulps(self, a: Array, b: Array, moved: Mask) -> None:
        distances = steps(a[moved], b[moved], self._ulp_dtype)
        self._ulp += histogram(distances)
        self._max_ulp = max(self._max_ulp, int(distances.max(initial=0)))

    def _add_errors(self, box: Box, a: Array, b: Array) -> None:
        errors = np.abs(b - a)
        worst = int(errors.argmax())
        if errors[worst] > self._largest_error:
            self._largest_error = float(errors[worst])
            self._largest = _pair(box, a, b, worst)
        channels, shape = around(box, self._axis)
        errors = errors.reshape(shape)
        peaks = errors.max(axis=(0, 2))
        self._peaks[channels] = np.maximum(self._peaks[channels], peaks)
        self._noise.add(channels, errors, peaks)

    def result(self, worst: int, skip_mismatches: bool) -> Diff:
        """The result. Mismatches are infinite errors, or not part of the errors if skipped."""
        mismatches = self._nans + self._infinities
        count = max(1, self._a.size - mismatches)
        noise, signal = self._noise.total(), self._signal.total()
        infinite = mismatches > 0 and not skip_mismatches
        return Diff(
            shape=self._a.shape, a_dtype=self._a.dtype, b_dtype=self._b.dtype,
            identical=self._identical, nan_mismatches=self._nans, inf_mismatches=self._infinities,
            max_abs=np.inf if infinite else self._largest_error,
            mean_abs=np.inf if infinite else float(noise.mean(count)[0]),
            rmse=np.inf if infinite else float(noise.rms(count)[0]),
            sqnr_db=-np.inf if infinite else float(signal.decibels_above(noise)[0]),
            ulp_dtype=self._ulp_dtype, ulp=self._labelled(),
            max_ulp=np.inf if infinite else self._max_ulp,
            worst=self._first_mismatch if infinite else self._largest, axis=self._axis,
            worst_channels=() if self._axis is None else self._channels(worst, skip_mismatches))

    def _labelled(self) -> dict[str, int]:
        """The histogram up to its last bin that is not empty."""
        last = int(np.flatnonzero(self._ulp).max(initial=0))
        return {label: int(count) for label, count in zip(LABELS, self._ulp[:last + 1])}

    def _channels(self, worst: int, skip_mismatches: bool) -> tuple[Channel, ...]:
        sqnr = self._signal.decibels_above(self._noise)
        different = np.flatnonzero((self._peaks > 0) | (self._mismatches > 0))
        order = np.lexsort((-self._peaks[different], sqnr[different], -self._mismatches[different]))
        found = []
        for i in different[order][:worst].tolist():
            mismatches = int(self._mismatches[i])
            infinite = mismatches > 0 and not skip_mismatches
            found.append(Channel(index=i, max_abs=np.inf if infinite else float(self._peaks[i]),
                                 sqnr_db=-np.inf if infinite else float(sqnr[i]),
                                 mismatches=mismatches))
        return tuple(found)


def _pair(box: Box, a: Array, b: Array, position: int) -> Worst:
    """The elements at a position of a flattened box, and their index in the tensors."""
    inside = np.unravel_index(position, box.shape)
    return Worst(index=tuple(int(start + i) for start, i in zip(box.start, inside)),
                 a=float(a[position]),
                 b=float(b[position]))
