"""The element types of this package and the dtypes of numpy, ml_dtypes, torch and jax."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import BITS

# Names of element types in numpy, ml_dtypes and torch that differ from the specifications' names.
_NAMES = {
    "float8_e4m3fn": "float8e4m3fn", "float8_e4m3fnuz": "float8e4m3fnuz",
    "float8_e5m2": "float8e5m2", "float8_e5m2fnuz": "float8e5m2fnuz",
    "float8_e8m0fnu": "float8e8m0", "float4_e2m1fn": "float4e2m1",
    "float6_e2m3fn": "float6e2m3", "float6_e3m2fn": "float6e3m2",
}
_ML_DTYPES = {element: name for name, element in _NAMES.items()}


def element_of(parameter: str, dtype: Any) -> str:
    """The element type of a dtype argument: one of dequant.dtypes, or a dtype of numpy, ml_dtypes,
    torch or jax, whose jax.numpy.bfloat16 is a class of that name."""
    name = name_of(dtype)
    if isinstance(dtype, str) and name not in BITS:
        dtype = _dtype_that_numpy_calls(dtype)
        name = name if dtype is None else name_of(dtype)
    if name not in BITS:
        raise TypeError(f"{parameter}: {name} is no element type of dequant, which are "
                        f"{', '.join(BITS)}")
    if isinstance(dtype, np.dtype) and not dtype.isnative:
        raise TypeError(f"{parameter}: the byte order of {dtype} is not that of this machine")
    return name


def name_of(dtype: Any) -> str:
    """The name of a dtype of any library; for an element type the name in dequant.dtypes."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if not isinstance(name, str):
        is_numpys = isinstance(dtype, type) and issubclass(dtype, np.generic)
        name = np.dtype(dtype).name if is_numpys else None
    if name is None:
        name = dtype.__name__ if isinstance(dtype, type) else str(dtype).removeprefix("torch.")
    return _NAMES.get(name, name)


def _dtype_that_numpy_calls(name: str) -> np.dtype[Any] | None:
    """The dtype for a name of numpy's, such as "f2" or "half"."""
    try:
        return np.dtype(name)
    except (TypeError, ValueError, SyntaxError):
        return None


def describe(dtype: np.dtype[Any]) -> tuple[str, bool] | None:
    """The element type of a dtype, and whether an element of less than 8 bits occupies a byte."""
    element = _NAMES.get(dtype.name, dtype.name)
    if element not in BITS or not dtype.isnative or dtype.hasobject or dtype.names is not None:
        return None
    return element, BITS[element] < 8


def dtype_of(element: str) -> np.dtype[Any] | None:
    """The dtype that numpy or ml_dtypes has for an element type. In ml_dtypes an element of less
    than 8 bits occupies one byte."""
    try:
        return np.dtype(element)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        return None
    dtype = getattr(ml_dtypes, _ML_DTYPES.get(element, element), None)
    return None if dtype is None else np.dtype(dtype)


def as_bfloat16(bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Bits of bfloat16 numbers as the dtype of ml_dtypes; without ml_dtypes, unchanged."""
    try:
        import ml_dtypes
    except ImportError:
        return bits
    return bits.view(ml_dtypes.bfloat16)


def bfloat16_as_float32(bits: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The numbers with these bits: every bfloat16 number is a float32 number."""
    numbers: np.ndarray[Any, np.dtype[np.float32]] = (
        bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return numbers
