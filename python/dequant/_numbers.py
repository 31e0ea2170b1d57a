"""Lists of Python numbers in place of scales and zero points, and the cast that an array of numpy's
default types needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import BITS

_MOST_DIMENSIONS = 64


def is_list(value: Any) -> bool:
    """Whether a value is a list or a tuple of numbers, or of such lists."""
    return type(value) in (list, tuple)


def of_list(name: str, value: Any, element: str) -> tuple[NDArray[Any], str, tuple[int, ...], bool]:
    """The numbers of a list as adapt() gives a tensor, each converted as a Python number alone is.

    Raises TypeError for what is no number of the element type, OverflowError for a number that does
    not fit, and ValueError for lists of different lengths in one list.
    """
    shape = _shape_of(name, value)
    numbers = list(_flat(name, value, shape))
    for number in numbers:
        if type(number) is not int and not isinstance(number, float):
            raise TypeError(f"{name}: {type(number).__name__} in a list, where Python numbers are "
                            "wanted; other numbers are given as an array")
    codes = _float32s(name, numbers) if element == "float32" else _integers(name, numbers, element)
    return codes.view(np.uint8), element, shape, BITS[element] < 8


def _shape_of(name: str, value: Any) -> tuple[int, ...]:
    sizes = []
    while is_list(value):
        sizes.append(len(value))
        if len(sizes) > _MOST_DIMENSIONS:
            raise ValueError(f"{name}: lists in more than {_MOST_DIMENSIONS} lists")
        if not value:
            break
        value = value[0]
    return tuple(sizes)


def _flat(name: str, value: Any, shape: tuple[int, ...]) -> Iterator[Any]:
    if not shape:
        if is_list(value):
            raise ValueError(f"{name}: a list stands where a number stands beside it")
        yield value
        return
    if not is_list(value):
        raise ValueError(f"{name}: {value!r:.100} stands where a list stands beside it")
    if len(value) != shape[0]:
        raise ValueError(f"{name}: lists of {shape[0]} and of {len(value)} side by side")
    for item in value:
        yield from _flat(name, item, shape[1:])


def _float32s(name: str, numbers: list[Any]) -> NDArray[Any]:
    try:
        wide = np.array([float(number) for number in numbers], np.float64)
    except OverflowError as error:
        raise OverflowError(f"{name}: {error}") from None
    with np.errstate(over="ignore"):
        narrow = wide.astype(np.float32)
    beyond = np.isinf(narrow) & np.isfinite(wide)
    if beyond.any():
        raise OverflowError(f"{name}: {numbers[int(beyond.argmax())]!r:.100} does not fit in "
                            "float32")
    return narrow


def _integers(name: str, numbers: list[Any], element: str) -> NDArray[Any]:
    ends = _ends(element)
    for number in numbers:
        if ends is None or isinstance(number, float):
            raise TypeError(f"{name}: {number!r} is a plain number, which says no code of "
                            f"{element}")
        if not ends[0] <= number <= ends[1]:
            raise OverflowError(f"{name}: {number!r:.100} does not fit in {element}")
    bits = BITS[element]
    if bits < 8:
        return np.array([number & (1 << bits) - 1 for number in numbers], np.uint8)
    return np.array(numbers, np.uint8 if ends is None else element)


def _ends(element: str) -> tuple[int, int] | None:
    """The least and the greatest number of an integer type, else None."""
    codes = 1 << BITS[element]
    if element.startswith("uint"):
        return 0, codes - 1
    return (-codes // 2, codes // 2 - 1) if element.startswith("int") else None


def cast_hint(name: str, array: NDArray[Any], element: str, of_torch: bool) -> str:
    """Of an array of a type that no element has, the end of a sentence that says which cast gives
    the type that is wanted, or why none does; empty for arrays that are no numbers."""
    if array.dtype.kind not in "iuf":
        return ""
    ends = _ends(element)
    call = f"{name}.{_cast(element, of_torch)}"
    if element == "float32":
        with np.errstate(over="ignore"):
            same = array.astype(np.float32).astype(array.dtype) == array
        wrong = int(np.count_nonzero(~same & (array == array)))
        if wrong == 0:
            return f"; its numbers are numbers of float32: give {call}"
        return f"; {call} would round {wrong} of its {array.size} numbers"
    if ends is None or array.dtype.kind == "f":
        return ""
    beyond = (array < ends[0]) | (array > ends[1])
    if beyond.any():
        return f"; {array[beyond].flat[0]} does not fit in {element}, the type of the codes"
    return f"; its numbers fit in {element}, the type of the codes: give {call}"


def _cast(element: str, of_torch: bool) -> str:
    if of_torch:
        return f"to(torch.{element})"
    return f"astype({'ml_dtypes' if BITS[element] < 8 else 'np'}.{element})"
