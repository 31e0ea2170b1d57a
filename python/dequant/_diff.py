"""dequant.diff(): how far tensors, or the tensors of two models, are apart."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, SupportsIndex, overload

import numpy as np

from ._diff_result import Diff, ModelDiff
from ._diff_totals import Totals
from ._floats import Floats, boxes


@overload
def diff(a: Mapping[str, Any], b: Mapping[str, Any], *, axis: SupportsIndex | None = None,
         worst: SupportsIndex = 5, skip_mismatches: bool = False) -> ModelDiff: ...


@overload
def diff(a: Any, b: Any, *, axis: SupportsIndex | None = None,
         worst: SupportsIndex = 5, skip_mismatches: bool = False) -> Diff: ...


def diff(a: Any, b: Any, *, axis: SupportsIndex | None = None,
         worst: SupportsIndex = 5, skip_mismatches: bool = False) -> Diff | ModelDiff:
    """Compares `b` with the reference `a`: errors, signal to noise, and steps of the type (ULP).

    >>> print(dequant.diff(weights, dequantized, axis=0))

    a, b   two tensors of one shape, each of float16, bfloat16, float32 or float64: arrays, PyTorch tensors on the
           CPU, whatever has a buffer, dequant.Packed, lists of numbers. Or two models: mappings of names to tensors, as
           dequant.open() returns them; tensors of the same name are compared.
    axis   asks for the worst channels along this axis; in models, of each tensor that has it.
    worst  how many channels are listed.
    skip_mismatches
           A NaN or an infinity that the other side lacks is a mismatch, and makes the errors infinite; if true, these
           elements are counted and otherwise left out. NaN equals any NaN, and an infinity itself.

    Raises TypeError for elements of other types, and ValueError for two shapes and for an axis that is not there.
    Tensors of models are listed as skipped instead.
    """
    axis = None if axis is None else operator.index(axis)
    worst = operator.index(worst)
    if worst < 0:
        raise ValueError(f"worst: {worst} is no number of channels")
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return _models(a, b, axis, worst, skip_mismatches)
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        raise TypeError("a model, which is a mapping of names to tensors, is compared with another one only")
    return _tensors(Floats(a, "a"), Floats(b, "b"), axis, worst, skip_mismatches)


def _models(a: Mapping[str, Any], b: Mapping[str, Any], axis: int | None, worst: int, skip: bool) -> ModelDiff:
    tensors: dict[str, Diff] = {}
    skipped: dict[str, str] = {}
    for name in a:
        if name not in b:
            continue
        try:
            left, right = Floats(a[name], "a"), Floats(b[name], "b")
            has_axis = axis is not None and _has(left, axis)
            tensors[name] = _tensors(left, right, axis if has_axis else None, worst, skip)
        except (TypeError, ValueError) as error:
            skipped[name] = str(error)
    return ModelDiff(tensors=dict(sorted(tensors.items(), key=lambda item: item[1].badness)), skipped=skipped,
                     only_in_a=tuple(name for name in a if name not in b),
                     only_in_b=tuple(name for name in b if name not in a))


def _tensors(a: Floats, b: Floats, axis: int | None, worst: int, skip: bool) -> Diff:
    if a.shape != b.shape:
        raise ValueError(f"a has the shape {list(a.shape)}, and b {list(b.shape)}")
    if axis is not None:
        if not _has(a, axis):
            raise ValueError(f"axis: {axis} is none of the {len(a.shape)} dimensions")
        axis %= len(a.shape)
    totals = Totals(a, b, axis)
    with np.errstate(all="ignore"):
        for box in boxes(a.shape):
            totals.add(box)
        return totals.result(worst, skip)


def _has(tensor: Floats, axis: int) -> bool:
    return -len(tensor.shape) <= axis < len(tensor.shape)
