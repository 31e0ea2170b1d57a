"""Tensors of floats for diff(), read in boxes and converted to float64.

float64 holds every float16, bfloat16, float32 and float64 number exactly. A box has at most `BOX`
elements, so a comparison needs little memory besides the tensors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._arrays import of_dlpack, speaks_dlpack
from ._tensors import check_torch, is_torch
from ._dtypes import bfloat16_as_float32
from ._model import Tensor
from ._packed import Packed
from ._ulp import FORMATS

BOX = 1 << 15  # 256 KiB as float64: a few boxes fit in a core's cache


class Box(NamedTuple):
    """A region of a tensor: for each dimension, the first index and the size."""

    start: tuple[int, ...]
    shape: tuple[int, ...]


class Floats:
    """A tensor of floats: a view of the source's memory if the source has a buffer."""

    def __init__(self, source: Any, what: str) -> None:
        array, dtype = _array(source, what)
        if dtype not in FORMATS:
            raise TypeError(
                f"{what}: {dtype} is not compared, which {', '.join(FORMATS)} are: dequantize or "
                'convert it; bits of bfloat16 are given as dequant.Packed(data, "bfloat16", shape)')
        self._array = array
        self.dtype = dtype
        self.shape: tuple[int, ...] = array.shape
        self.size: int = array.size

    def read(self, box: Box) -> NDArray[np.float64]:
        """The elements of a box in C order, in one dimension; may be a view of the tensor."""
        slices: tuple[Any, ...] = (*(slice(i, i + n) for i, n in zip(box.start, box.shape)), ...)
        elements = self._array[slices].reshape(-1)
        if self.dtype == "bfloat16":
            elements = bfloat16_as_float32(elements)
        return np.ascontiguousarray(elements, np.float64)


def boxes(shape: tuple[int, ...]) -> Iterator[Box]:
    """The boxes of a tensor, in C order."""
    if 0 in shape:
        return
    whole = len(shape)  # each box covers the dimensions from this one on completely
    inner = 1  # number of elements in these dimensions
    while whole > 0 and inner * shape[whole - 1] <= BOX:
        whole -= 1
        inner *= shape[whole]
    if whole == 0:
        yield Box((0,) * len(shape), shape)
        return
    *before, cut = shape[:whole]
    rest = shape[whole:]
    length = BOX // inner
    for outer in np.ndindex(*before):
        for i in range(0, cut, length):
            yield Box((*outer, i, *(0,) * len(rest)),
                      (*(1,) * len(outer), min(length, cut - i), *rest))


def around(box: Box, axis: int | None) -> tuple[slice, tuple[int, int, int]]:
    """The channels of the axis in a box, and the shape of the box as (outer, channel, inner).
    Without an axis, all elements are one channel."""
    if axis is None:
        return slice(0, 1), (1, 1, math.prod(box.shape))
    first, length = box.start[axis], box.shape[axis]
    return slice(first, first + length), (math.prod(box.shape[:axis]), length,
                                          math.prod(box.shape[axis + 1:]))


def _array(source: Any, what: str) -> tuple[NDArray[Any], str]:
    """An array and the name of its element type. bfloat16 numbers are their bits as uint16, because
    numpy has no such dtype."""
    if isinstance(source, (list, tuple, int, float)):
        return _numbers(source, what)
    if isinstance(source, Packed) and not isinstance(source.data, np.ndarray):
        raise TypeError(f"{what}: its bytes are on a device: {source.data!r}")
    if isinstance(source, Packed):
        return _of_bits(source.data, source.dtype, source.shape)
    if isinstance(source, Tensor):
        array = source.to_numpy()
        # Without ml_dtypes the array holds the bits of bfloat16 numbers.
        return (array, "bfloat16") if array.dtype == np.uint16 else _named(array)
    if is_torch(source):
        check_torch(what, source)
        source = source.detach()
    elif hasattr(source, "to_numpy"):
        source = source.to_numpy()
    if is_torch(source) or (speaks_dlpack(source) and not hasattr(source, "__array__")):
        return _of_dlpack(source, what)
    if isinstance(source, np.ma.MaskedArray):
        raise TypeError(f"{what}: a masked array, whose mask would be lost")
    try:
        return _named(np.asarray(source))
    except (TypeError, ValueError):
        if not speaks_dlpack(source):
            raise
        # mlx.core has arrays of bfloat16 that numpy cannot read, and DLPack can.
        return _of_dlpack(source, what)


def _of_dlpack(source: Any, what: str) -> tuple[NDArray[Any], str]:
    array, element = of_dlpack(what, source)
    return _named(array) if element is None else _of_bits(array, element, array.shape)


def _numbers(source: Any, what: str) -> tuple[NDArray[Any], str]:
    """Python numbers as float64; 1 means 1.0. Raises ValueError for an integer that float64 cannot
    represent."""
    array = np.asarray(source)
    if array.dtype.kind not in "iu" and array.dtype != np.float64:
        return _named(array)
    wide = array.astype(np.float64)
    if (np.abs(wide) >= 2.0**53).any():  # float64 holds all smaller integers
        for number in np.asarray(source, object).flat:
            if isinstance(number, (int, np.integer)) and float(number) != int(number):
                raise ValueError(f"{what}: {number} is no float64")
    return wide, "float64"


def _of_bits(array: NDArray[Any], element: str, shape: tuple[int, ...]) -> tuple[NDArray[Any], str]:
    """An array for memory whose items are the bits of elements, or bytes."""
    if element in FORMATS:
        array = array.view(np.uint16 if element == "bfloat16" else element)
        return array.reshape(shape), element
    return array, element


def _named(array: NDArray[Any]) -> tuple[NDArray[Any], str]:
    name = array.dtype.name
    return array.view(np.uint16) if name == "bfloat16" else array, name
