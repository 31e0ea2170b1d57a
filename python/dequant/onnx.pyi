from typing import Any, Literal, SupportsIndex, TypeVar, overload

import numpy.typing as npt
import torch

from ._typing import DType, Floats, Ints, Tensor, Writable

__all__ = ["dequantize_linear"]

_Out = TypeVar("_Out", bound=Writable)

@overload
def dequantize_linear(
    x: Tensor,
    scale: Tensor | Floats,
    zero_point: Tensor | Ints | None = None,
    *,
    axis: SupportsIndex = 1,
    block_size: SupportsIndex = 0,
    output_dtype: DType | SupportsIndex | None = None,
    opset: SupportsIndex = 28,
    out: _Out,
    threads: SupportsIndex | None = None,
    like: None = None,
) -> _Out: ...

@overload
def dequantize_linear(
    x: Tensor,
    scale: Tensor | Floats,
    zero_point: Tensor | Ints | None = None,
    *,
    axis: SupportsIndex = 1,
    block_size: SupportsIndex = 0,
    output_dtype: DType | SupportsIndex | None = None,
    opset: SupportsIndex = 28,
    out: None = None,
    threads: SupportsIndex | None = None,
    like: Literal["torch"],
) -> torch.Tensor: ...

@overload
def dequantize_linear(
    x: Tensor,
    scale: Tensor | Floats,
    zero_point: Tensor | Ints | None = None,
    *,
    axis: SupportsIndex = 1,
    block_size: SupportsIndex = 0,
    output_dtype: DType | SupportsIndex | None = None,
    opset: SupportsIndex = 28,
    out: None = None,
    threads: SupportsIndex | None = None,
    like: Literal["numpy"] | None = None,
) -> npt.NDArray[Any]: ...
