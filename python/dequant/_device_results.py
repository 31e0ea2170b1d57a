"""New tensors on a CUDA device, of the library that a caller uses."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import _device
from ._dtypes import dtype_of

#: Libraries that a result may be of; "" is that of no library: dequant's own arrays.
LIBRARIES = ("torch", "cupy", "jax", "")


class Result(NamedTuple):
    """Memory to write to, and the tensor on it, to be taken once the work is on its stream."""

    view: _device.View
    finish: Callable[[], Any]


def new_result(library: str, element: str, shape: tuple[int, ...], device: int,
               stream: int) -> Result:
    """A tensor whose values are not set yet. `stream` is for libraries without a stream of their
    own."""
    if library == "torch":
        torch = importlib.import_module("torch")
        tensor = torch.empty(shape, dtype=getattr(torch, element), device=f"cuda:{device}")
        return Result(_device.view_of("y", tensor), lambda: tensor)
    if library == "cupy":
        return _of_cupy(element, shape, device)
    array = _device.module().Array(element, list(shape), device, stream)
    view = _device.view_of("y", array)
    if library == "jax":
        return Result(view, lambda: importlib.import_module("jax.dlpack").from_dlpack(array))
    return Result(view, lambda: array)


def _of_cupy(element: str, shape: tuple[int, ...], device: int) -> Result:
    """Without a type for bfloat16, the bits as uint16, as of numpy."""
    cupy = importlib.import_module("cupy")
    with cupy.cuda.Device(device):
        if element != "bfloat16":
            array = cupy.empty(shape, element)
            return Result(_device.view_of("y", array), lambda: array)
        array = cupy.empty(shape, np.uint16)
        view = _device.view_of("y", array)

    def finish() -> Any:
        dtype = dtype_of("bfloat16")
        try:
            return array if dtype is None else array.view(dtype)
        except (TypeError, ValueError):  # of versions of cupy without bfloat16
            return array

    return Result(view, finish)
