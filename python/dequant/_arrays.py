"""Arrays of other libraries as packed bytes, the name of an element, and a shape.

The core reads contiguous arrays of numpy's own types by itself and asks here about everything else: ml_dtypes,
DLPack, strides, buffers, bytes that the caller describes, and plain numbers.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from . import _core

# What numpy, ml_dtypes and torch call elements, where that differs from the specifications.
_NAMES = {
    "float8_e4m3fn": "float8e4m3fn", "float8_e4m3fnuz": "float8e4m3fnuz", "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz", "float8_e8m0fnu": "float8e8m0", "float4_e2m1fn": "float4e2m1",
}
# TensorFlow's quantized types, whose arrays have one field of that name.
_QUANTIZED = ("quint8", "qint8", "quint16", "qint16", "qint32")


def element_of(parameter: str, dtype: Any) -> str:
    """The element that a dtype argument means: our name of it, or a dtype of numpy, ml_dtypes or torch."""
    name = _dtype_name(dtype)
    if name not in _core.BITS:
        raise TypeError(f"{parameter}: {name} is no element type of dequant, which are {', '.join(_core.BITS)}")
    return name


def _dtype_name(dtype: Any) -> str:
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if not isinstance(name, str):
        name = np.dtype(dtype).name if isinstance(dtype, type) and issubclass(dtype, np.generic) else None
    if name is None:
        name = dtype.__name__ if isinstance(dtype, type) else str(dtype).removeprefix("torch.")
    return _NAMES.get(name, name)


def shape_of(parameter: str, shape: Any) -> tuple[int, ...]:
    """A shape of non-negative sizes whose product fits 64 bits."""
    try:
        given = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        if any(isinstance(size, bool) for size in given):
            raise TypeError
        sizes = tuple(operator.index(size) for size in given)
    except TypeError:
        raise TypeError(f"{parameter}: ints are wanted, not {shape!r:.100}") from None
    if len(sizes) > 64:
        raise ValueError(f"{parameter}: {len(sizes)} dimensions, and 64 are the most")
    if any(size < 0 for size in sizes):
        raise ValueError(f"{parameter}: {list(sizes)} has a negative size")
    if math.prod(max(size, 1) for size in sizes) >= 2**60:
        raise ValueError(f"{parameter}: {list(sizes)} is larger than any memory")
    return sizes


def bytes_of(parameter: str, data: Any) -> np.ndarray:
    """The memory of contiguous one-byte items, as a flat array; never a copy."""
    array = _array(parameter, data)
    if array.dtype.itemsize != 1 or array.dtype.hasobject:
        raise TypeError(f"{parameter}: items of one byte are wanted, not {array.dtype}")
    if not array.flags.c_contiguous:
        raise ValueError(f"{parameter}: packed bytes must be contiguous")
    return array.reshape(-1).view(np.uint8)


def describe(dtype: np.dtype) -> tuple[str, bool] | None:
    """The element whose memory a dtype says, and whether each takes a whole byte though it has fewer bits."""
    element = _NAMES.get(dtype.name, dtype.name)
    if element not in _core.BITS or not dtype.isnative or dtype.hasobject or dtype.names is not None:
        return None
    return element, _core.BITS[element] < 8


def adapt(name: str, value: Any) -> tuple[np.ndarray, str, tuple[int, ...], bool]:
    """The bytes of any tensor, its element, its shape, and whether each element has a byte of its own."""
    if isinstance(value, (np.ndarray, np.generic, type)) or not hasattr(value, "__dlpack__"):
        return _adapt_array(name, _array(name, value))
    return _adapt_dlpack(name, value)


def _array(name: str, value: Any) -> np.ndarray:
    """A numpy array of the same memory."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name}: a masked array, whose mask would be lost")
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    if hasattr(value, "__array_interface__") and not isinstance(value, type):
        return np.asarray(value)
    try:
        return np.asarray(memoryview(value))
    except (TypeError, ValueError, NotImplementedError):
        raise TypeError(f"{name}: {type(value).__name__} is no tensor: it has neither the buffer protocol nor "
                        "__array_interface__ nor __dlpack__") from None


def _adapt_array(name: str, array: np.ndarray) -> tuple[np.ndarray, str, tuple[int, ...], bool]:
    names = array.dtype.names
    if names is not None and len(names) == 1 and names[0] in _QUANTIZED:
        array = array[names[0]]
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    described = describe(array.dtype)
    if described is None:
        raise TypeError(f"{name}: {array.dtype} is no element type of dequant, which are {', '.join(_core.BITS)}; "
                        "bytes that hold one are given as dequant.Packed(data, dtype, shape)")
    element, one_per_byte = described
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8), element, array.shape, one_per_byte


def _adapt_dlpack(name: str, value: Any) -> tuple[np.ndarray, str, tuple[int, ...], bool]:
    kind = type(value).__name__
    try:
        _check_exporter(name, value)
        known = _core.from_dlpack(value, False)
        if known is None:
            return _adapt_array(name, np.from_dlpack(value))  # which says what is wrong
        codes, element = known
        return np.ascontiguousarray(codes).reshape(-1).view(np.uint8), element, codes.shape, False
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(f"{name}: {kind} gives no memory by DLPack: {error}") from None


def _check_exporter(name: str, tensor: Any) -> None:
    """Refuses memory of other devices, and tensors of torch that are more than their memory, which DLPack does
    not say."""
    try:
        device = int(tensor.__dlpack_device__()[0])
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(f"{name}: {type(tensor).__name__} gives no memory by DLPack: {error}") from None
    if device != 1:
        raise TypeError(f"{name}: {type(tensor).__name__} on a device of DLPack's type {device}; only memory of the CPU"
                        " is served")
    if getattr(tensor, "requires_grad", False) is True:
        raise TypeError(f"{name}: a tensor that requires a gradient, which would be lost; detach() it first")
    for bit in ("neg", "conj"):
        if getattr(tensor, f"is_{bit}", bool)() is True:
            raise TypeError(f"{name}: a tensor whose memory is not its values yet; resolve_{bit}() it first")


def adapt_out(out: Any, element: str, shape: tuple[int, ...]) -> np.ndarray:
    """The bytes to write, of memory of that element and shape under any name; raises for all other."""
    if isinstance(out, np.ndarray):
        _check_out(out.dtype.name, out.shape, element, shape)
        if isinstance(out, np.ma.MaskedArray):
            raise TypeError("out: a masked array, whose mask would not be set")
        if not out.dtype.isnative:
            raise TypeError(f"out: its byte order is not that of this machine: {out.dtype}")
        if not out.flags.writeable:
            raise ValueError("out: the array is read-only")
        if not out.flags.c_contiguous:
            raise ValueError("out: the array must be contiguous, in C order")
        return np.asarray(out).reshape(-1).view(np.uint8)
    if hasattr(out, "__dlpack__") and not isinstance(out, type):
        _check_exporter("out", out)
        if not _is_writable(out):
            raise ValueError(f"out: {type(out).__name__} does not offer its memory for writing")
        found = _core.from_dlpack(out, True)
        if found is None:
            raise TypeError(f"out: {type(out).__name__} gives no writable memory of the CPU by DLPack")
        codes, dtype = found
        _check_out(dtype, codes.shape, element, shape)
        if not codes.flags.c_contiguous:
            raise ValueError("out: the tensor must be contiguous")
        return codes.reshape(-1).view(np.uint8)
    try:
        view = memoryview(out)
    except TypeError:
        raise TypeError(f"out: {type(out).__name__} is no array that can be written") from None
    if view.readonly:
        raise ValueError("out: the buffer is read-only")
    return adapt_out(np.asarray(view), element, shape)


def _is_writable(tensor: Any) -> bool:
    """Tensors of torch all are, and old ones do not say so; of others numpy tells."""
    if type(tensor).__module__.partition(".")[0] == "torch":
        return True
    try:
        return bool(np.from_dlpack(tensor).flags.writeable)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return False


def _check_out(dtype: str, found: tuple[int, ...], element: str, shape: tuple[int, ...]) -> None:
    # numpy itself has no bfloat16: its bits may go to uint16.
    if dtype != element and not (element == "bfloat16" and dtype == "uint16"):
        raise TypeError(f"out: its dtype is {dtype}, and the result is {element}")
    if tuple(found) != shape:
        raise ValueError(f"out: its shape is {list(found)}, and the result has {list(shape)}")


def empty(element: str, shape: tuple[int, ...], like: Any) -> tuple[Any, np.ndarray]:
    """A new array, and its bytes. bfloat16 is ml_dtypes' where that is installed, else its bits as uint16."""
    array = np.empty(shape, "uint16" if element == "bfloat16" else element)
    flat = array.reshape(-1).view(np.uint8)
    if like is None or like == "numpy":
        return array if element != "bfloat16" else as_bfloat16(array), flat
    if like != "torch":
        raise ValueError(f"like: {like!r:.100} is neither None nor 'numpy' nor 'torch'")
    import torch

    tensor = torch.from_numpy(array if element != "bfloat16" else array.view(np.int16))
    return tensor if element != "bfloat16" else tensor.view(torch.bfloat16), flat


def as_bfloat16(array: np.ndarray) -> np.ndarray:
    """Bits of bfloat16 as ml_dtypes' type where that is installed, else as they are."""
    try:
        import ml_dtypes
    except ImportError:
        return array
    return array.view(ml_dtypes.bfloat16)
