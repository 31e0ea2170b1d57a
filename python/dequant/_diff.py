"""dequant.diff(): the differences of two tensors, or of the tensors of two models."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, SupportsIndex, overload

import numpy as np

from ._diff_result import Diff, ModelDiff
from ._diff_totals import Totals
from ._floats import Floats, boxes
from ._model import Model


@overload
def diff(a: Mapping[str, Any], b: Mapping[str, Any], *, axis: SupportsIndex | None = None,
         worst: SupportsIndex = 5, skip_mismatches: bool = False) -> ModelDiff: ...


@overload
def diff(a: Any, b: Any, *, axis: SupportsIndex | None = None,
         worst: SupportsIndex = 5, skip_mismatches: bool = False) -> Diff: ...


def diff(a: Any, b: Any, *, axis: SupportsIndex | None = None,
         worst: SupportsIndex = 5, skip_mismatches: bool = False) -> Diff | ModelDiff:
    """Compares `b` with the reference `a`: errors, signal-to-noise ratio, units in the last place.

    >>> print(dequant.diff(weights, dequantized, axis=0))

    a, b   Two tensors of the same shape, each of float16, bfloat16, float32 or float64: arrays,
           tensors of torch on the CPU, objects with the buffer protocol, dequant.Packed, or lists
           of numbers. Or two models: mappings from names to tensors, as dequant.open() returns
           them. Tensors of the same name are compared; the names of nodes and of dequantized
           constants count as names of a tensor of a model file.
    axis   The result lists the worst channels along this axis; for models, of each tensor that has
           this axis. None: no channels.
    worst  The number of channels in the list.
    skip_mismatches
           A mismatch is an element that is NaN or infinite on one side only; it makes the errors
           infinite. If true, mismatches are counted and not part of the errors. A NaN equals any
           NaN, and an infinity equals the infinity of the same sign.

    Raises TypeError for elements of other types. Raises ValueError for different shapes, for an
    axis that the tensors do not have, and for ints in lists that float64 cannot represent. For
    models such tensors are in `skipped` instead, and so are names that a model repeats.
    """
    axis = None if axis is None else operator.index(axis)
    worst = operator.index(worst)
    if worst < 0:
        raise ValueError(f"worst: {worst} is no number of channels")
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return _models(a, b, axis, worst, skip_mismatches)
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        raise TypeError("a model, which is a mapping of names to tensors, is compared with another "
                        "one only")
    return _tensors(Floats(a, "a"), Floats(b, "b"), axis, worst, skip_mismatches)


def _models(a: Mapping[str, Any], b: Mapping[str, Any], axis: int | None, worst: int,
            skip: bool) -> ModelDiff:
    tensors: dict[str, Diff] = {}
    skipped: dict[str, str] = {}
    pairs = _pairs(a, b)
    for name, other in pairs.items():
        try:
            left, right = Floats(a[name], "a"), Floats(b[other], "b")
            has_axis = axis is not None and _has(left, axis)
            tensors[name] = _tensors(left, right, axis if has_axis else None, worst, skip)
        except KeyError as error:
            skipped[name] = str(error.args[0] if error.args else error)
        except (TypeError, ValueError) as error:
            skipped[name] = str(error)
    return ModelDiff(tensors=dict(sorted(tensors.items(), key=lambda item: item[1].badness)),
                     skipped=skipped,
                     only_in_a=tuple(name for name in dict.fromkeys(a) if name not in pairs),
                     only_in_b=tuple(name for name in dict.fromkeys(b) if name not in
                                     set(pairs.values())))


def _pairs(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, str]:
    """For names of tensors in a, the name of the same tensor in b."""
    in_a, in_b = dict.fromkeys(a), dict.fromkeys(b)
    pairs = {name: other for name in in_a if (other := _known_as(name, b, in_b)) is not None}
    paired = set(pairs.values())
    for other in in_b:
        if other not in paired and (name := _known_as(other, a, in_a)) is not None:
            pairs.setdefault(name, other)
    return pairs


def _known_as(name: str, model: Mapping[str, Any], names: Mapping[str, None]) -> str | None:
    """The key of a tensor in a model; None if the model has no such tensor. In a model file the
    names of nodes and of dequantized constants are names of a tensor, too."""
    if name in names or not isinstance(model, Model):
        return name if name in names else None
    try:
        return str(model[name].name)
    except KeyError:  # no tensor or several tensors of that name
        return None


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
