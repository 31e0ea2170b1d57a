"""The functions of the schemes of checkpoints, made from the list that the extension module has."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ._core import SCHEMES, dequantize_scheme

_COMMON = """

dtype     float32, float16 or bfloat16; None: float32
out       a contiguous array for the result, of the result's shape and dtype; it is returned
threads   the largest number of threads; None or 0: one for each processor
like      "torch": the result is a tensor of torch instead of a numpy array

Tensors are as for the functions of the other dialects, also on a CUDA device, but no Python numbers
and no lists of them: the type of a scale may decide how a result is rounded. Raises ValueError for
what the scheme forbids; `out` is then unchanged."""


_COMMON_TYPES = {"dtype": "DType", "out": "Writable", "threads": "int",
                 "like": 'Literal["numpy", "torch"]'}


def _text(name: str, value: Any) -> str:
    """An option as text: True is "true", a sequence "128,128"."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return str(value)
    number = _int(value)
    return str(number) if number is not None else ",".join(map(str, _ints(name, value)))


def _int(value: Any) -> int | None:
    """None for what does not count as an int. Arrays have __index__, too, which fails for most."""
    try:
        return None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        return None


def _ints(name: str, value: Any) -> list[int]:
    """The integers of a sequence. Bytes are none: they would be the codes of their letters."""
    try:
        items = None if isinstance(value, (bytes, bytearray)) else list(value)
    except TypeError:
        items = None
    if items is None:
        raise TypeError(f"{name}: an int, a bool, a string or a sequence of ints is wanted, not "
                        f"{type(value).__name__}")
    numbers = []
    for item in items:
        number = _int(item)
        if number is None:
            raise TypeError(f"{name}: {type(item).__name__} in a sequence, where ints are wanted")
        numbers.append(number)
    return numbers


def function(scheme: str) -> Callable[..., Any]:
    """The function of a scheme: its tensors by position or name, its options by name."""
    inputs, required, settings, description = SCHEMES[scheme]
    parameters = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Tensor")
        if name in required else
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None,
                          annotation="Tensor | None")
        for name in inputs]
    parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None,
                                     annotation=f"{annotation} | None")
                   for name, annotation in (*((name, "Option") for name in settings),
                                            *_COMMON_TYPES.items())]
    signature = inspect.Signature(parameters, return_annotation="np.ndarray | torch.Tensor")

    def dequantize(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        tensors = {name: given[name] for name in inputs if given.get(name) is not None}
        options = {name: _text(name, given[name]) for name in settings
                   if given.get(name) is not None}
        return dequantize_scheme(scheme, tensors, options, given.get("dtype"), given.get("out"),
                                 given.get("threads"), given.get("like"))

    dequantize.__signature__ = signature  # type: ignore[attr-defined]
    dequantize.__module__ = f"dequant.{scheme}"
    dequantize.__qualname__ = "dequantize"  # so that it is pickled by name
    dequantize.__doc__ = description + _COMMON
    return dequantize
