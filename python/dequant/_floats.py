"""Anything that holds floats, read in boxes of float64: what diff() compares.

Every float16, bfloat16, float32 and float64 is a float64, so nothing is lost. A box is at most `BOX` elements, so
that tensors need little memory besides their own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._packed import Packed
from ._ulp import FORMATS

BOX = 1 << 15  # 256 KiB as float64: a few of them stay in a core's cache


class Box(NamedTuple):
    """A part of a tensor: for each dimension, where it starts and how long it is."""

    start: tuple[int, ...]
    shape: tuple[int, ...]


class Floats:
    """A tensor of floats: a view of what it was made from wherever that has a buffer."""

    def __init__(self, source: Any, what: str) -> None:
        array, dtype = _array(source, what)
        if dtype not in FORMATS:
            raise TypeError(f"{what}: {dtype} is not compared, which {', '.join(FORMATS)} are; bits of bfloat16 are "
                            'given as dequant.Packed(data, "bfloat16", shape)')
        self._array = array
        self.dtype = dtype
        self.shape: tuple[int, ...] = array.shape
        self.size: int = array.size

    def read(self, box: Box) -> NDArray[np.float64]:
        """The elements of a box in C order, as one dimension; perhaps a view of the tensor."""
        places: tuple[Any, ...] = (*(slice(i, i + n) for i, n in zip(box.start, box.shape)), ...)
        part = self._array[places].reshape(-1)
        if self.dtype == "bfloat16":
            part = (part.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return np.ascontiguousarray(part, np.float64)


def boxes(shape: tuple[int, ...]) -> Iterator[Box]:
    """Cuts a tensor into boxes that follow one another in C order."""
    if 0 in shape:
        return
    whole = len(shape)  # dimensions from here on are in every box from end to end
    inner = 1  # elements of these
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
            yield Box((*outer, i, *(0,) * len(rest)), (*(1,) * len(outer), min(length, cut - i), *rest))


def around(box: Box, axis: int | None) -> tuple[slice, tuple[int, int, int]]:
    """The channels of an axis that a box has, and its shape as (outer, channel, inner); one channel without an axis."""
    if axis is None:
        return slice(0, 1), (1, 1, math.prod(box.shape))
    first, length = box.start[axis], box.shape[axis]
    return slice(first, first + length), (math.prod(box.shape[:axis]), length, math.prod(box.shape[axis + 1:]))


def _array(source: Any, what: str) -> tuple[NDArray[Any], str]:
    """An array and the name of its elements; those of bfloat16 are bits, since numpy has no such type."""
    if isinstance(source, (list, tuple, int, float)):
        array = np.asarray(source)
        # Numbers have no type, so 1 means 1.0 here.
        return (array.astype(np.float64), "float64") if array.dtype.kind in "iu" else _named(array)
    if isinstance(source, Packed):
        stored = np.uint16 if source.dtype == "bfloat16" else source.dtype
        return source.data.view(stored).reshape(source.shape), source.dtype
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(source, torch.Tensor):
        source = source.detach()
        if source.dtype is torch.bfloat16:
            return source.view(torch.int16).numpy().view(np.uint16), "bfloat16"
    elif hasattr(source, "to_numpy"):
        source = source.to_numpy()
    elif hasattr(source, "__dlpack__") and not hasattr(source, "__array__"):
        source = np.from_dlpack(source)
    if isinstance(source, np.ma.MaskedArray):
        raise TypeError(f"{what}: a masked array, whose mask would be lost")
    return _named(np.asarray(source))


def _named(array: NDArray[Any]) -> tuple[NDArray[Any], str]:
    name = array.dtype.name
    return array.view(np.uint16) if name == "bfloat16" else array, name
