"""Types of the arguments of this package, for type checkers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from ._packed import Packed


class Buffer(Protocol):
    """Objects with the buffer protocol: bytes, memoryview, array.array, mmap, arrays of ctypes."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class ArrayInterface(Protocol):
    """Objects whose memory numpy reads without a copy."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


class CudaArrayInterface(Protocol):
    """Objects with memory on a CUDA device."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class DLPack(Protocol):
    """Tensors of torch, jax and others."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...

    def __dlpack_device__(self) -> tuple[Any, Any]: ...


class ModelProto(Protocol):
    """onnx.ModelProto, declared without an import of onnx."""

    DESCRIPTOR: Any
    graph: Any

    def SerializeToString(self) -> bytes: ...


class TorchDType(Protocol):
    """torch.dtype, declared without an import of torch."""

    @property
    def is_floating_point(self) -> bool: ...

    @property
    def itemsize(self) -> int: ...


class JaxScalar(Protocol):
    """jax.numpy.bfloat16 and the like, declared without an import of jax."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def __call__(self, x: Any, /) -> Any: ...


#: A tensor to read.
Tensor: TypeAlias = Union[npt.NDArray[Any], np.generic, Packed, Buffer, ArrayInterface,
                          CudaArrayInterface, DLPack]
#: Numbers for scales and ranges, and for zero points; lists as of arrays.
Floats: TypeAlias = Union[float, Sequence[float], Sequence[Sequence[float]],
                          Sequence[Sequence[Sequence[float]]]]
Ints: TypeAlias = Union[int, Sequence[int], Sequence[Sequence[int]],
                        Sequence[Sequence[Sequence[int]]]]
#: An element type: a name, or a dtype of numpy, ml_dtypes, torch or jax.
DType: TypeAlias = Union[str, type[np.generic], np.dtype[Any], TorchDType, JaxScalar]
#: An option of a scheme; a sequence has one integer for each axis.
Option: TypeAlias = Union[np.bool_, SupportsIndex, str, Sequence[SupportsIndex]]
#: A model: a path, or the bytes of its file, or an onnx.ModelProto.
ModelSource: TypeAlias = Union[str, os.PathLike[str], Buffer, ModelProto]
#: A tensor to write to.
Writable: TypeAlias = Union[npt.NDArray[Any], Buffer, CudaArrayInterface, DLPack]
