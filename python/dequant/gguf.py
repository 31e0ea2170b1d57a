"""Tensors of GGUF files, the model files of llama.cpp."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from . import _arrays, _device
from ._core import BITS, convert_floats, dequantize_scheme
from ._errors import UnsupportedError

__all__ = ["dequantize"]

#: The types that are floats of ours, by their names and by their numbers in GGUF files.
_FLOATS = {"F32": "float32", "F16": "float16", "BF16": "bfloat16",
           0: "float32", 1: "float16", 30: "bfloat16"}


def dequantize(data: Any, type: Any,
               shape: Sequence[SupportsIndex] | SupportsIndex | None = None, *, scale: Any = None,
               dtype: Any = None, out: Any = None, threads: SupportsIndex | None = None,
               like: str | None = None) -> Any:
    """The floats of a tensor of a GGUF file.

    data      the bytes of the tensor: an object with a buffer, or an array of uint8, also on a CUDA
              device
    type      a block type by its name, such as "Q4_K", or by its number in GGUF files (also
              gguf.GGMLQuantizationType); or F32, F16 or BF16, whose numbers are rounded once
    shape     of the dense tensor, outermost first: GGUF's dimensions in reverse. None: that of
              data, whose last dimension has the bytes of a row
    scale     None, or one number that multiplies all elements, or an array of float32 with one for
              each index of the first dimension: of a tensor of NVFP4, what the file has as
              "<name>.scale"
    dtype     float32, float16 or bfloat16; None: float32
    out       a contiguous array for the result, of the result's shape and dtype; it is returned
    threads   the largest number of threads; None or 0: one for each processor
    like      "torch": the result is a tensor of torch instead of a numpy array

    Raises ValueError for bytes that are no tensor of this type and shape, and
    dequant.UnsupportedError for other plain types, for types that were removed from GGUF, and for
    unknown types; `out` is then unchanged."""
    kind = type if isinstance(type, str) else _number(type)
    sizes = None if shape is None else _arrays.shape_of("shape", shape)
    if kind in _FLOATS:
        if scale is not None:
            raise ValueError("scale: given for a tensor of floats, not of blocks")
        return _convert(_FLOATS[kind], data, sizes, dtype, out, threads, like)
    tensors = {"data": data}
    if scale is not None:
        tensors["scale"] = _float32(scale)
    options = {"type": str(kind)}
    if sizes is not None:
        options["shape"] = ",".join(map(str, sizes))
    return dequantize_scheme("gguf", tensors, options, dtype, out, threads, like)


def _number(type: Any) -> int:
    """The number of a type in GGUF files."""
    try:
        if not isinstance(type, (bool, np.bool_)):
            return operator.index(type)
    except TypeError:
        pass
    raise TypeError(f"type: a name or a number of GGUF is wanted, not {type!r:.100}")


def _float32(scale: Any) -> Any:
    """A Python number as a scalar of float32; other objects are tensors."""
    if not isinstance(scale, (int, float)) or isinstance(scale, (bool, np.generic)):
        return scale
    with np.errstate(over="ignore"):
        number = np.float32(scale)
    if np.isinf(number) and not math.isinf(scale):
        raise OverflowError(f"scale: {scale} is beyond float32")
    return number


def _convert(element: str, data: Any, shape: tuple[int, ...] | None, dtype: Any, out: Any,
             threads: int | None, like: str | None) -> Any:
    """Floats that are stored as such, in an array of theirs or in bytes."""
    if _device.is_on_device(data):
        raise UnsupportedError(f"data: {element} on a device, where only blocks are dequantized; "
                               "the library of the tensor converts floats")
    if isinstance(data, np.ndarray) and data.dtype.itemsize > 1:
        array, found, stored, _ = _arrays.adapt("data", data)
        if found != element:
            raise TypeError(f"data: {found} where the type has {element}")
    else:
        array = _arrays.bytes_of("data", data, copies=True)
        rows = np.shape(data) or array.shape
        stored = (*rows[:-1], rows[-1] * 8 // BITS[element])
    return convert_floats(element, array, stored if shape is None else shape, dtype, out, threads,
                          like)
