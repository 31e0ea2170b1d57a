from typing import Any, Literal, SupportsIndex, TypeVar, overload

import numpy.typing as npt
import torch

from ._typing import DType, Floats, Tensor, Writable

__all__ = ["dequantize"]

_Out = TypeVar("_Out", bound=Writable)

@overload
def dequantize(
    input: Tensor,
    min_range: Tensor | Floats,
    max_range: Tensor | Floats,
    mode: Literal["MIN_COMBINED", "MIN_FIRST", "SCALED"] = "MIN_COMBINED",
    name: object = None,
    axis: SupportsIndex | None = None,
    narrow_range: bool = False,
    dtype: DType | None = None,
    *,
    version: Literal["r2", "r1.4"] = "r2",
    semantics: Literal["kernel", "documented"] = "kernel",
    out: _Out,
    threads: SupportsIndex | None = None,
    like: None = None,
) -> _Out: ...

@overload
def dequantize(
    input: Tensor,
    min_range: Tensor | Floats,
    max_range: Tensor | Floats,
    mode: Literal["MIN_COMBINED", "MIN_FIRST", "SCALED"] = "MIN_COMBINED",
    name: object = None,
    axis: SupportsIndex | None = None,
    narrow_range: bool = False,
    dtype: DType | None = None,
    *,
    version: Literal["r2", "r1.4"] = "r2",
    semantics: Literal["kernel", "documented"] = "kernel",
    out: None = None,
    threads: SupportsIndex | None = None,
    like: Literal["torch"],
) -> torch.Tensor: ...

@overload
def dequantize(
    input: Tensor,
    min_range: Tensor | Floats,
    max_range: Tensor | Floats,
    mode: Literal["MIN_COMBINED", "MIN_FIRST", "SCALED"] = "MIN_COMBINED",
    name: object = None,
    axis: SupportsIndex | None = None,
    narrow_range: bool = False,
    dtype: DType | None = None,
    *,
    version: Literal["r2", "r1.4"] = "r2",
    semantics: Literal["kernel", "documented"] = "kernel",
    out: None = None,
    threads: SupportsIndex | None = None,
    like: Literal["numpy"] | None = None,
) -> npt.NDArray[Any]: ...
