# Written by scripts/scheme_modules.py.
from typing import Any, Literal, SupportsIndex, TypeVar, overload

import numpy.typing as npt
import torch

from ._typing import DType, Option, Tensor, Writable

__all__ = ["dequantize"]

_Out = TypeVar("_Out", bound=Writable)

@overload
def dequantize(
    weight: Tensor,
    absmax: Tensor,
    quant_map: Tensor,
    *,
    shape: Option | None = None,
    blocksize: Option | None = None,
    dtype: DType | None = None,
    out: _Out,
    threads: SupportsIndex | None = None,
    like: None = None,
) -> _Out: ...

@overload
def dequantize(
    weight: Tensor,
    absmax: Tensor,
    quant_map: Tensor,
    *,
    shape: Option | None = None,
    blocksize: Option | None = None,
    dtype: DType | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
    like: Literal["torch"],
) -> torch.Tensor: ...

@overload
def dequantize(
    weight: Tensor,
    absmax: Tensor,
    quant_map: Tensor,
    *,
    shape: Option | None = None,
    blocksize: Option | None = None,
    dtype: DType | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
    like: Literal["numpy"] | None = None,
) -> npt.NDArray[Any]: ...
