"""Packed: bytes with an element type and a shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _dtypes
from ._core import BITS, set_packed, unpack


class Packed:
    """Bytes with an element type and a shape, laid out as the specifications store tensors. Any
    tensor argument of this package may be a Packed.

    >>> weights = dequant.Packed(data, "int4", (64, 128))

    data   bytes, or a contiguous array or tensor of one-byte items; the memory is not copied.
           Elements of less than 8 bits are packed: the first element is in the lowest bits, and
           rows need not start at a byte. Bytes on a CUDA device stay there.
    dtype  one of dequant.dtypes, or a dtype of numpy, ml_dtypes, torch or jax.numpy.
    shape  a sequence of ints, or one int for a vector.

    Raises ValueError unless the number of bytes is that of the shape.
    """

    __slots__ = ("data", "dtype", "shape")

    data: NDArray[np.uint8]  #: The bytes, as a flat array; of a device a view for this package.
    dtype: str  #: The name of the element, such as "int4" or "float8e4m3fn".
    shape: tuple[int, ...]

    def __init__(self, data: Any, dtype: Any,
                 shape: Sequence[SupportsIndex] | SupportsIndex) -> None:
        element = _dtypes.element_of("dtype", dtype)
        array = _arrays.bytes_of("data", data)
        sizes = _arrays.shape_of("shape", shape)
        wanted = (math.prod(sizes) * BITS[element] + 7) // 8
        if array.size != wanted:
            raise ValueError(f"data: {array.size} bytes are given, and {element}{list(sizes)} "
                             f"takes {wanted}")
        object.__setattr__(self, "data", array)
        object.__setattr__(self, "dtype", element)
        object.__setattr__(self, "shape", sizes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Packed is not changed after it was made: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Packed is not changed after it was made: {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.data, self.dtype, self.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        return self.data.size

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def to_numpy(self) -> NDArray[Any]:
        """The stored elements as an array of a dtype of numpy or ml_dtypes; no scale is applied.

        The array is a view of the bytes. For elements of less than 8 bits it is a copy with one
        byte for each element. Raises TypeError if neither numpy nor ml_dtypes has such a dtype, or
        ml_dtypes is not installed.
        """
        if not isinstance(self.data, np.ndarray):
            raise TypeError(f"the bytes are on a device: {self.data!r}")
        dtype = _dtypes.dtype_of(self.dtype)
        if dtype is None:
            raise TypeError(f"numpy has no type for {self.dtype}, and no ml_dtypes that has it is "
                            "installed")
        data, bits = self.data, BITS[self.dtype]
        if bits < 8:
            data = np.empty(self.size, np.uint8)
            unpack(bits, self.data, data)
        return data.view(dtype).reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.to_numpy()
        converted = array if dtype is None else array.astype(dtype, copy=False)
        is_view = np.may_share_memory(converted, self.data)
        if copy is False and not is_view and self.size > 0:
            raise ValueError(f"{self.dtype} as {converted.dtype} of numpy is a copy")
        return converted.copy() if copy and is_view else converted

    def __repr__(self) -> str:
        return f"<dequant.Packed {self.dtype}{list(self.shape)}, {self.nbytes} bytes>"


set_packed(Packed)
