"""Tensors of other libraries as packed bytes, the name of an element type, and a shape.

The extension module reads contiguous numpy arrays itself. It calls the functions of this file for
DLPack, buffers, `__array_interface__` and structured dtypes, and for dtypes of ml_dtypes.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _core, _device, _numbers
from ._core import BITS
from ._dtypes import as_bfloat16, describe, element_of, name_of
from ._tensors import check_out, check_torch, check_values, is_torch, shape_of

# The functions that the extension module calls, and shape_of() for modules that call adapt().
__all__ = ["adapt", "adapt_out", "describe", "element_of", "empty", "shape_of"]

# TensorFlow's quantized types. Their numpy dtypes have one field with the name of the type.
_QUANTIZED = ("quint8", "qint8", "quint16", "qint16", "qint32")


def bytes_of(parameter: str, data: Any, copies: bool = False) -> Any:
    """The memory of contiguous one-byte items as an array of one dimension, without a copy; of a
    tensor on a device a dequant._device.View. Items that are not contiguous are refused, unless
    `copies` is True: then the array is a copy of them."""
    # torch does not export this dtype under its name: a view as uint8 has the same bytes.
    if str(getattr(data, "dtype", "")) == "torch.float4_e2m1fn_x2":
        data = data.view(sys.modules["torch"].uint8)
    if _device.is_on_device(data):
        view = _device.view_of(parameter, data)
        if BITS[view.element] != 8:
            raise TypeError(f"{parameter}: items of one byte are wanted, not {view.element}")
        if view.strides is not None:
            raise ValueError(f"{parameter}: packed bytes must be contiguous")
        return view
    array, element = (of_dlpack(parameter, data) if speaks_dlpack(data)
                      else (_array(parameter, data), None))
    if array.dtype.itemsize != 1 or array.dtype.hasobject:
        raise TypeError(f"{parameter}: items of one byte are wanted, not {element or array.dtype}")
    if not array.flags.c_contiguous and not copies:
        raise ValueError(f"{parameter}: packed bytes must be contiguous")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def adapt(name: str, value: Any, numbers: str | None = None
          ) -> tuple[np.ndarray, str, tuple[int, ...], bool] | _device.View:
    """The bytes of any tensor, its element type, its shape, and whether elements of less than 8
    bits have one byte each; of a tensor on a device its View. `numbers` is the element type of
    plain numbers, if they may be given for the tensor: then lists of them may be as well."""
    if numbers is not None and _numbers.is_list(value):
        return _numbers.of_list(name, value, numbers)
    if _device.is_on_device(value):
        return _device.view_of(name, value)
    if not speaks_dlpack(value):
        return _adapt_array(name, _array(name, value), numbers)
    array, element = of_dlpack(name, value)
    if element is None:  # raises TypeError if the dtype is no element type
        return _adapt_array(name, array, numbers, is_torch(value))
    dtype = name_of(getattr(value, "dtype", element))
    if dtype != element and (is_torch(value) or dtype in BITS):
        raise TypeError(f"{name}: {dtype}, whose memory DLPack calls {element}; give "
                        f"dequant.Packed, or a view whose dtype is {element}")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8), element, array.shape, False


def _array(name: str, value: Any) -> np.ndarray:
    """A numpy array on the same memory."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name}: a masked array, whose mask would be lost")
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    if hasattr(value, "__array_interface__") and not isinstance(value, type):
        return np.asarray(value)
    try:
        return np.asarray(memoryview(value))
    except TypeError:
        raise TypeError(f"{name}: {type(value).__name__} is no tensor: it has neither the buffer "
                        "protocol nor __array_interface__ nor __dlpack__") from None
    except (ValueError, NotImplementedError) as error:
        raise TypeError(f"{name}: {type(value).__name__} gives no memory: {error}") from None


def _adapt_array(name: str, array: np.ndarray, numbers: str | None = None,
                 of_torch: bool = False) -> tuple[np.ndarray, str, tuple[int, ...], bool]:
    names = array.dtype.names
    if names is not None and len(names) == 1 and names[0] in _QUANTIZED:
        array = array[names[0]]
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    described = describe(array.dtype)
    if described is None:
        hint = _numbers.cast_hint(name, array, numbers, of_torch) if numbers is not None else ""
        if hint:
            raise TypeError(f"{name}: {array.dtype} is no element type of dequant{hint}")
        raise TypeError(f"{name}: {array.dtype} is no element type of dequant, which are "
                        f"{', '.join(BITS)}; bytes that hold one are given as dequant.Packed(data, "
                        "dtype, shape)")
    element, one_per_byte = described
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return data, element, array.shape, one_per_byte


def speaks_dlpack(value: Any) -> bool:
    """Whether the memory of a tensor is read through DLPack. numpy arrays have DLPack too, but
    their own interface also covers dtypes that DLPack lacks."""
    return hasattr(value, "__dlpack__") and not isinstance(value, (np.ndarray, np.generic, type))


def of_dlpack(name: str, value: Any) -> tuple[np.ndarray, str | None]:
    """An array on a tensor's memory, and the name of the element type.

    The items of the array are unsigned integers with the bits of the elements. For other types the
    array is that of numpy.from_dlpack(), and the name is None.
    """
    _check_exporter(name, value)
    try:
        found = _core.from_dlpack(value, False)
        return (np.from_dlpack(value), None) if found is None else found
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(
            f"{name}: {type(value).__name__} gives no memory by DLPack: {error}") from None


def _check_exporter(name: str, tensor: Any) -> None:
    """Raises TypeError for memory that is not the CPU's, and for tensors whose values are not just
    their memory: DLPack does not export gradients, negation or conjugation."""
    if is_torch(tensor):
        check_torch(name, tensor)
    try:
        device = int(tensor.__dlpack_device__()[0])
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(
            f"{name}: {type(tensor).__name__} gives no memory by DLPack: {error}") from None
    if device in (2, 13):  # of an `out` whose call has its tensors on the CPU
        raise TypeError(f"{name}: {type(tensor).__name__} on a CUDA device, where memory of the "
                        "CPU is wanted")
    if device != 1:
        raise TypeError(f"{name}: {type(tensor).__name__} on a device of DLPack's type {device}; "
                        "only memory of the CPU and of CUDA is served")
    check_values(name, tensor)


def adapt_out(out: Any, element: str, shape: tuple[int, ...]) -> np.ndarray:
    """The bytes of `out`, to write to. Raises TypeError or ValueError unless `out` is contiguous,
    writable memory of that element type and shape."""
    if isinstance(out, np.ndarray):
        check_out(out.dtype.name, out.shape, element, shape)
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
            raise TypeError(f"out: {type(out).__name__} gives no writable memory of the CPU by "
                            "DLPack")
        codes, dtype = found
        check_out(dtype, codes.shape, element, shape)
        if not codes.flags.c_contiguous:
            raise ValueError("out: the tensor must be contiguous")
        return codes.reshape(-1).view(np.uint8)
    try:
        view = memoryview(out)
    except TypeError:
        raise TypeError(f"out: {type(out).__name__} is no array that can be written") from None
    except ValueError as error:
        raise ValueError(f"out: {type(out).__name__} gives no memory: {error}") from None
    if view.readonly:
        raise ValueError("out: the buffer is read-only")
    return adapt_out(np.asarray(view), element, shape)


def _is_writable(tensor: Any) -> bool:
    """Tensors of torch are always writable; old versions of torch export no flag for it. For other
    tensors the array of numpy.from_dlpack() has the flag."""
    if is_torch(tensor):
        return True
    try:
        return bool(np.from_dlpack(tensor).flags.writeable)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return False


def empty(element: str, shape: tuple[int, ...], like: Any) -> tuple[Any, np.ndarray]:
    """A new array, and its bytes. For bfloat16 the array has the dtype of ml_dtypes, or uint16 if
    ml_dtypes is not installed."""
    array = np.empty(shape, "uint16" if element == "bfloat16" else element)
    flat = array.reshape(-1).view(np.uint8)
    if like is None or isinstance(like, str) and like == "numpy":
        return array if element != "bfloat16" else as_bfloat16(array), flat
    if not isinstance(like, str) or like != "torch":
        raise ValueError(f"like: {like!r:.100} is neither None nor 'numpy' nor 'torch'")
    import torch

    tensor = torch.from_numpy(array if element != "bfloat16" else array.view(np.int16))
    return tensor if element != "bfloat16" else tensor.view(torch.bfloat16), flat
