"""Memory that does not say what it holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _arrays
from ._core import BITS, set_packed


class Packed:
    """Bytes of an element type as specifications store them, for any tensor argument of this package.

    >>> weights = dequant.Packed(data, "int4", (64, 128))

    data   bytes, or an array of one-byte items, contiguous: not copied. Elements of less than 8 bits are
           packed, the first in the lowest bits, and rows need not start on a byte.
    dtype  one of dequant.dtypes, or a dtype of numpy, ml_dtypes or torch.
    shape  a sequence of ints, or one int for a vector.

    Raises ValueError unless the bytes are exactly those that the shape takes.
    """

    __slots__ = ("data", "dtype", "shape")

    data: np.ndarray[Any, np.dtype[np.uint8]]  #: The bytes, as a flat array.
    dtype: str  #: The name of the element, such as "int4" or "float8e4m3fn".
    shape: tuple[int, ...]

    def __init__(self, data: Any, dtype: Any, shape: Sequence[int] | int) -> None:
        element = _arrays.element_of("dtype", dtype)
        array = _arrays.bytes_of("data", data)
        sizes = _arrays.shape_of("shape", shape)
        wanted = (math.prod(sizes) * BITS[element] + 7) // 8
        if array.size != wanted:
            raise ValueError(f"data: {array.size} bytes are given, and {element}{list(sizes)} takes {wanted}")
        object.__setattr__(self, "data", array)
        object.__setattr__(self, "dtype", element)
        object.__setattr__(self, "shape", sizes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Packed is not changed after it was made: {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.data, self.dtype, self.shape)

    @property
    def nbytes(self) -> int:
        return self.data.size

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"<dequant.Packed {self.dtype}{list(self.shape)}, {self.nbytes} bytes>"


set_packed(Packed)
