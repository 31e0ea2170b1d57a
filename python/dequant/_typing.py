"""What the functions of this package take, for type checkers."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from ._packed import Packed


class Buffer(Protocol):
    """What the buffer protocol reads: bytes, memoryview, array.array, mmap, arrays of ctypes."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class ArrayInterface(Protocol):
    """What numpy can look at without a copy."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


class DLPack(Protocol):
    """Tensors of torch, jax and others."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...

    def __dlpack_device__(self) -> tuple[Any, Any]: ...


class TorchDType(Protocol):
    """torch.dtype, without torch."""

    @property
    def is_floating_point(self) -> bool: ...

    @property
    def itemsize(self) -> int: ...


#: A tensor to read.
Tensor: TypeAlias = Union[npt.NDArray[Any], np.generic, Packed, Buffer, ArrayInterface, DLPack]
#: An element type under any of its names.
DType: TypeAlias = Union[str, type[np.generic], np.dtype[Any], TorchDType]
#: What may be written to.
Writable: TypeAlias = Union[npt.NDArray[Any], Buffer, DLPack]
