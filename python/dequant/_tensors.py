"""What is demanded of integers, and of tensors of other libraries, on the CPU and on a device."""

from __future__ import annotations

import math
import operator
import sys
from typing import Any


def shape_of(parameter: str, shape: Any) -> tuple[int, ...]:
    """A shape of non-negative sizes whose product is less than 2^60."""
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


def whole(parameter: str, value: Any, least: int) -> int:
    """An integer that is not less than `least`. Raises TypeError or ValueError with the parameter's
    name."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{parameter}: an int is wanted, not {type(value).__name__}") from None
    if number < least:
        raise ValueError(f"{parameter}: {number} is less than {least}")
    return number


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    tensor = getattr(torch, "Tensor", ())
    return type(value) is tensor or isinstance(value, tensor)


def check_values(name: str, tensor: Any) -> None:
    """Raises TypeError for tensors whose values are not just their memory."""
    if getattr(tensor, "requires_grad", False) is True:
        raise TypeError(f"{name}: a tensor that requires a gradient, which would be lost; detach() "
                        "it first")
    for bit in ("neg", "conj"):
        if getattr(tensor, f"is_{bit}", bool)() is True:
            raise TypeError(f"{name}: a tensor whose memory is not its values yet; resolve_{bit}() "
                            "it first")


def check_torch(name: str, tensor: Any) -> None:
    """Raises TypeError for tensors of torch that have no memory, or other values than in memory."""
    # A class with its own __torch_dispatch__ (fake, wrapper and masked tensors) computes the values
    # of its tensors, so their memory does not hold the values.
    plain = sys.modules["torch"].Tensor
    dispatch = "__torch_dispatch__"
    if getattr(type(tensor), dispatch, None) is not getattr(plain, dispatch, None):
        raise TypeError(f"{name}: {type(tensor).__name__}, a tensor that is more than its memory, "
                        "or has none")
    try:
        has_memory = tensor.data_ptr() != 0 or tensor.numel() == 0
    except RuntimeError as error:
        raise TypeError(f"{name}: {type(tensor).__name__} gives no memory: {error}") from None
    if not has_memory:
        raise TypeError(f"{name}: a tensor without memory, such as functional ones and those on "
                        "the device meta")


def check_out(dtype: str, found: tuple[int, ...], element: str, shape: tuple[int, ...]) -> None:
    """Raises TypeError or ValueError unless `out` has the type and the shape of the result."""
    # numpy itself has no bfloat16: uint16 arrays may receive its bits.
    if dtype != element and not (element == "bfloat16" and dtype == "uint16"):
        raise TypeError(f"out: its dtype is {dtype}, and the result is {element}")
    if tuple(found) != shape:
        raise ValueError(f"out: its shape is {list(found)}, and the result has {list(shape)}")
