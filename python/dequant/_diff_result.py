"""The results of dequant.diff(): plain data that prints as a short report."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

LINES = 10  # the most tensors in the printed report of two models


@dataclasses.dataclass(frozen=True)
class Worst:
    """The first element with the largest error, or the first mismatch."""

    index: tuple[int, ...]
    a: float
    b: float


@dataclasses.dataclass(frozen=True)
class Channel:
    """The slice at one index of an axis."""

    index: int
    max_abs: float
    sqnr_db: float
    mismatches: int


@dataclasses.dataclass(frozen=True, repr=False)
class Diff:
    """The differences of `b` from the reference `a`. The error of an element is b - a, in float64.

    A mismatch is an element that is NaN or infinite on one side only, or infinite with opposite
    signs. Its error is infinite, and so are the largest and the mean error of the tensor, unless
    diff() has skip_mismatches=True. Equal infinities, and NaN on both sides, have no error.
    """

    shape: tuple[int, ...]
    a_dtype: str
    b_dtype: str
    identical: int  #: number of equal elements; +0 and -0 differ, a NaN equals any NaN
    nan_mismatches: int  #: number of elements that are NaN on one side only
    inf_mismatches: int  #: number of elements infinite on one side only, or with opposite signs
    max_abs: float  #: the largest |error|
    mean_abs: float  #: the mean |error|
    rmse: float  #: the root of the mean squared error
    sqnr_db: float  #: 10 log10(sum of a^2 / sum of squared errors); inf without errors
    ulp_dtype: str  #: the coarser of the two types: an ULP (unit in the last place) is its step
    #: number of elements that are "0", "1", "2", "3-4", "5-8", ... ULP apart, without mismatches
    ulp: Mapping[str, int]
    max_ulp: float  #: the largest distance in ULP: a whole number, or inf
    worst: Worst | None  #: None if no error is above zero
    axis: int | None  #: the axis of worst_channels
    #: channels with errors; most mismatches first, then lowest SQNR first
    worst_channels: tuple[Channel, ...]

    @property
    def size(self) -> int:
        """The number of elements of each side."""
        return math.prod(self.shape)

    @property
    def mismatches(self) -> int:
        return self.nan_mismatches + self.inf_mismatches

    @property
    def exact(self) -> bool:
        """Whether all elements are identical."""
        return self.identical == self.size

    @property
    def badness(self) -> tuple[float, ...]:
        """A sort key: most mismatches first, then the lowest SQNR."""
        return -self.mismatches, self.sqnr_db, -self.max_abs, self.identical - self.size

    def to_dict(self) -> dict[str, Any]:
        """A dict for json.dumps(). Infinities are the strings "inf" and "-inf", NaN is "nan"."""
        more = {"size": self.size, "mismatches": self.mismatches, "exact": self.exact}
        return {**_plain(self), **more}

    def __str__(self) -> str:
        same = self.a_dtype == self.b_dtype
        types = self.a_dtype if same else f"{self.a_dtype} and {self.b_dtype}"
        lines = [f"{types} {list(self.shape)}: {self.identical} of {self.size} identical"]
        if self.mismatches:
            lines.append(f"mismatches: {self.nan_mismatches} NaN, {self.inf_mismatches} infinite")
        if not self.exact:
            lines.append(f"error: max {self.max_abs:.4g}, mean {self.mean_abs:.4g}, RMS "
                         f"{self.rmse:.4g}, SQNR {self.sqnr_db:.2f} dB")
            bins = ", ".join(f"{label}: {count}" for label, count in self.ulp.items() if count)
            lines.append(f"ULP of {self.ulp_dtype}: {bins or 'none'}")
        if self.worst is not None:
            lines.append(f"worst at {list(self.worst.index)}: a {self.worst.a!r}, b "
                         f"{self.worst.b!r}")
        if self.worst_channels:
            lines.append(f"worst channels of axis {self.axis}:")
        for channel in self.worst_channels:
            mismatches = f", {channel.mismatches} mismatches" if channel.mismatches else ""
            lines.append(f"  {channel.index}: max {channel.max_abs:.4g}, SQNR "
                         f"{channel.sqnr_db:.2f} dB{mismatches}")
        return "\n".join(lines)

    __repr__ = __str__


@dataclasses.dataclass(frozen=True, repr=False)
class ModelDiff:
    """The differences of the tensors of model b from the tensors of the reference model a."""

    tensors: Mapping[str, Diff]  #: by name in a, the worst tensor first
    skipped: Mapping[str, str]  #: names of tensors that cannot be compared, and the reasons
    only_in_a: tuple[str, ...]  #: names of tensors without a partner in b
    only_in_b: tuple[str, ...]  #: names of tensors without a partner in a

    @property
    def exact(self) -> bool:
        """Whether both models have the same tensors, and all elements are identical."""
        return not (self.skipped or self.only_in_a or self.only_in_b) and all(
            tensor.exact for tensor in self.tensors.values())

    def to_dict(self) -> dict[str, Any]:
        """A dict for json.dumps(), with the same strings as Diff.to_dict()."""
        tensors = {name: tensor.to_dict() for name, tensor in self.tensors.items()}
        return {"exact": self.exact, "tensors": tensors, "skipped": dict(self.skipped),
                "only_in_a": list(self.only_in_a), "only_in_b": list(self.only_in_b)}

    def __str__(self) -> str:
        different = {name: tensor for name, tensor in self.tensors.items() if not tensor.exact}
        lines = [f"{len(self.tensors) - len(different)} of {len(self.tensors)} tensors identical"]
        for name, tensor in list(different.items())[:LINES]:
            mismatches = f", {tensor.mismatches} mismatches" if tensor.mismatches else ""
            lines.append(f"  {name}: max {tensor.max_abs:.4g}, SQNR {tensor.sqnr_db:.2f} dB, "
                         f"{tensor.size - tensor.identical} of {tensor.size} differ{mismatches}")
        if len(different) > LINES:
            lines.append(f"  and {len(different) - LINES} more")
        lines += [f"not compared: {name}: {reason}" for name, reason in self.skipped.items()]
        lines += [f"only in {side}: {', '.join(names)}"
                  for side, names in (("a", self.only_in_a), ("b", self.only_in_b)) if names]
        return "\n".join(lines)

    __repr__ = __str__


def _plain(value: Any) -> Any:
    """The value as types that json.dumps() accepts."""
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name))
                for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
