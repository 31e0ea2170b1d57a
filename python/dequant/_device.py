"""Tensors on a CUDA device: where they are, and in which order of work they are ready. Each has a
stream: the current one of its library, or what it says itself.
"""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any

import numpy as np

from ._core import BITS
from ._dtypes import describe, name_of
from ._errors import UnsupportedError
from ._tensors import check_out, check_torch, check_values, is_torch, shape_of

#: Types of devices of DLPack: memory of CUDA, and memory of CUDA that the host may read, too.
_CUDA = (2, 13)
#: The default stream, by the number that DLPack gives it.
DEFAULT_STREAM = 1


def module() -> Any:
    """The extension module of CUDA devices, which packages built without CUDA do not have."""
    try:
        return importlib.import_module("dequant._cuda")
    except ModuleNotFoundError as error:
        if error.name != "dequant._cuda":
            raise
        raise UnsupportedError(
            "this package of dequant was built without CUDA; in a clone of its repository, pip "
            "install . --config-settings=cmake.define.DEQUANT_CUDA=ON builds one with it") from None


def is_on_device(value: Any) -> bool:
    """Whether a tensor says that its memory is CUDA's."""
    if isinstance(value, (np.ndarray, np.generic, type)):
        return False
    if hasattr(value, "__dlpack_device__"):
        try:
            return int(value.__dlpack_device__()[0]) in _CUDA
        except (BufferError, RuntimeError, ValueError):
            return False  # refused where the memory is read
    return hasattr(value, "__cuda_array_interface__")


class View:
    """The memory of a tensor on a device."""

    __slots__ = ("name", "value", "library", "address", "element", "shape", "strides", "device",
                 "stream", "keeper")

    def __init__(self, name: str, value: Any, library: str, address: int, element: str,
                 shape: tuple[int, ...], strides: tuple[int, ...], device: int, stream: int,
                 keeper: Any = None) -> None:
        self.name = name
        self.value = value
        self.library = library
        self.address = address
        self.element = element
        self.shape = shape_of(name, shape)
        #: In elements; None where the elements lie one after the other.
        self.strides = None if _is_packed(self.shape, strides) else strides
        self.device = device
        self.stream = stream or DEFAULT_STREAM
        self.keeper = keeper

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Of all elements, without gaps."""
        return self.size * BITS[self.element] // 8

    def current(self) -> View:
        """The same memory as its library orders work now."""
        return view_of(self.name, self.value)

    def contiguous(self) -> View:
        """The same elements one after the other: a copy that the library of the tensor makes."""
        if self.library == "torch":
            return view_of(self.name, self.value.contiguous())
        if self.library == "cupy":
            return view_of(self.name, sys.modules["cupy"].ascontiguousarray(self.value))
        raise UnsupportedError(f"{self.name}: {type(self.value).__name__} on a device with strides "
                               f"of {list(self.strides or ())} elements; give a contiguous copy")

    def __reduce__(self) -> Any:
        raise TypeError(f"{self.name}: memory of a device cannot be pickled")

    def __repr__(self) -> str:
        return f"<{self.element}{list(self.shape)} on cuda:{self.device}>"


def _packed_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * size)
    return tuple(reversed(strides)) if shape else ()


def _is_packed(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Strides of dimensions of one index mean nothing."""
    if 0 in shape:
        return True
    packed = _packed_strides(shape)
    return all(size == 1 or a == b for size, a, b in zip(shape, strides, packed, strict=True))


def view_of(name: str, value: Any) -> View:
    """The memory of a tensor that is_on_device(). Raises as dequant._arrays.adapt() does."""
    cuda = module()
    if isinstance(value, cuda.Array):
        return View(name, value, "dequant", value.address, value.dtype, value.shape,
                    _packed_strides(value.shape), value.device, value.stream)
    if is_torch(value):
        return _of_torch(name, value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _of_dlpack(name, value, cuda)
    return _of_interface(name, value, cuda)


def _of_torch(name: str, tensor: Any) -> View:
    check_torch(name, tensor)
    check_values(name, tensor)
    device = tensor.device.index
    stream = sys.modules["torch"].cuda.current_stream(device).cuda_stream
    return View(name, tensor, "torch", tensor.data_ptr(), _element(name, tensor.dtype),
                tuple(tensor.shape), tuple(tensor.stride()), device, stream)


def _of_dlpack(name: str, value: Any, cuda: Any) -> View:
    check_values(name, value)
    library = _library_of(value)
    stream = DEFAULT_STREAM
    if library == "cupy":
        stream = _stream_of_cupy(int(value.__dlpack_device__()[1]))
    try:
        device, address, element, shape, strides, keeper = cuda.from_dlpack(
            value.__dlpack__(stream=stream))
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(
            f"{name}: {type(value).__name__} gives no memory by DLPack: {error}") from None
    dtype = name_of(getattr(value, "dtype", element))
    if element is None or (dtype != element and dtype in BITS):
        raise TypeError(f"{name}: {dtype} on a device, which DLPack calls {element}; give "
                        "dequant.Packed, or a view of an element type of dequant")
    return View(name, value, library, address, element, shape, strides, device, stream, keeper)


def _of_interface(name: str, value: Any, cuda: Any) -> View:
    facts = value.__cuda_array_interface__
    if facts.get("mask") is not None:
        raise TypeError(f"{name}: a masked array, whose mask would be lost")
    dtype = np.dtype(facts["typestr"])
    element = _element(name, dtype)
    shape = tuple(facts["shape"])
    strides = facts.get("strides")
    if strides is None:
        steps = _packed_strides(shape)
    elif any(step % dtype.itemsize for step in strides):
        raise TypeError(f"{name}: strides of {list(strides)} bytes, no multiples of those of an "
                        "element")
    else:
        steps = tuple(step // dtype.itemsize for step in strides)
    stream = facts.get("stream")
    if stream == 0:
        raise ValueError(f"{name}: __cuda_array_interface__ has the stream 0, which it forbids")
    address = int(facts["data"][0])
    device = cuda.device_of(address) if address else cuda.current_device()
    return View(name, value, _library_of(value), address, element, shape, steps, device,
                DEFAULT_STREAM if stream is None else int(stream))


def _element(name: str, dtype: Any) -> str:
    """The element type of a dtype whose elements fill their bytes."""
    described = describe(dtype) if isinstance(dtype, np.dtype) else None
    element = described[0] if described is not None else name_of(dtype)
    if element not in BITS or (isinstance(dtype, np.dtype) and described is None):
        raise TypeError(f"{name}: {dtype} is no element type of dequant, which are "
                        f"{', '.join(BITS)}; bytes that hold one are given as dequant.Packed(data, "
                        "dtype, shape)")
    if BITS[element] < 8:
        raise TypeError(f"{name}: {dtype} on a device, whose elements fill a byte each; give "
                        "dequant.Packed")
    return element


def _library_of(value: Any) -> str:
    """The library of a tensor, where results are made by it."""
    for library, kind in (("cupy", "ndarray"), ("jax", "Array")):
        found = sys.modules.get(library)
        if found is not None and isinstance(value, getattr(found, kind, ())):
            return library
    return ""


def _stream_of_cupy(device: int) -> int:
    cupy = sys.modules["cupy"]
    with cupy.cuda.Device(device):
        return int(cupy.cuda.get_current_stream().ptr) or DEFAULT_STREAM


def view_of_out(out: Any, element: str, shape: tuple[int, ...], where: str) -> View:
    """The memory of `out`, to write to. `where` says what is on which device."""
    if not is_on_device(out):
        raise TypeError(f"out: {type(out).__name__} on the CPU, and {where}; the tensors of a call "
                        "must be on one device")
    view = view_of("out", out)
    facts = getattr(out, "__cuda_array_interface__", None)
    is_written = view.library in ("torch", "dequant") or (facts is not None
                                                          and not facts["data"][1])
    if not is_written or view.library == "jax":
        raise ValueError(f"out: {type(out).__name__} does not offer its memory for writing")
    check_out(view.element, view.shape, element, shape)
    if view.strides is not None:
        raise ValueError("out: the tensor must be contiguous")
    return view
