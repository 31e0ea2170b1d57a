"""The same tensor in the forms that callers have, and programs in processes of their own."""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np

import dequant
from arithmetic import BITS, FLOATS, Codes

ONE_PER_BYTE = {"int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4, "int2": ml_dtypes.int2,
                "uint2": ml_dtypes.uint2,
                "float4e2m1": ml_dtypes.float4_e2m1fn, "float6e2m3": ml_dtypes.float6_e2m3fn,
                "float6e3m2": ml_dtypes.float6_e3m2fn}
# Where arithmetic tends to go wrong, as float32.
EDGES = np.concatenate([
    np.float32([1, -1, 0.1, 0.0, -0.0, np.inf, -np.inf, np.nan, 3.4028235e38, 1e-30, 123.456,
                -0.007874016]),
    np.array([1, 0x80000001, 0x000F4240, 0x007FFFFF, 0x807FFFFF, 0x00800000],
             np.uint32).view(np.float32)])


def array_of(codes: Codes) -> np.ndarray:
    """As numpy and ml_dtypes have it: small elements take a byte each."""
    element = codes.element
    if element in ONE_PER_BYTE:
        if element.startswith("float"):
            return codes.codes.astype(np.uint8).view(ONE_PER_BYTE[element])
        return codes.values().astype(np.int8).astype(ONE_PER_BYTE[element])
    unsigned = codes.codes.astype(f"u{BITS[element] // 8}")
    return unsigned.view(FLOATS.get(element, element))


def packed_of(codes: Codes) -> dequant.Packed:
    return dequant.Packed(codes.packed(), codes.element, codes.codes.shape)


def same_bits(actual, expected):
    """The same type, shape and bits; any NaN is like any other."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    nan = np.isnan(actual) & np.isnan(expected)
    unsigned = f"u{actual.itemsize}"
    different = (np.ascontiguousarray(actual).view(unsigned).reshape(actual.shape)
                 != np.ascontiguousarray(expected).view(unsigned).reshape(actual.shape)) & ~nan
    assert not different.any(), (f"{different.sum()} of {different.size} differ, first at "
                                 f"{np.argwhere(different)[0]}: {actual[different][0]!r}, not "
                                 f"{expected[different][0]!r}")


def linear(x, scale, zero=0, dtype=np.float32):
    """(x - zero) * scale of arrays that broadcast: the difference is rounded once to float32, the
    product too."""
    with np.errstate(all="ignore"):
        difference = np.asarray(x, np.float64) - np.asarray(zero, np.float64)
        return np.asarray(difference.astype(np.float32) * np.asarray(scale, np.float32), dtype)


def program(text, *arguments, timeout=60, **environment):
    """What a Python program prints, in a process of its own. Fails if the program does, or if it
    hangs."""
    done = subprocess.run([sys.executable, "-c", text, *map(str, arguments)], timeout=timeout,
                          text=True, check=False, capture_output=True,
                          env={**os.environ, **environment})
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
