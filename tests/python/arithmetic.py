"""Tensors as codes, and the arithmetic of DequantizeLinear written down once more in numpy,
independently of dequant."""

import dataclasses

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

FLOATS = {  # types that numpy or ml_dtypes can view
    "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2, "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float6e2m3": ml_dtypes.float6_e2m3fn, "float6e3m2": ml_dtypes.float6_e3m2fn,
    "float8e8m0": ml_dtypes.float8_e8m0fnu, "float32": np.dtype("<f4"), "float16": np.dtype("<f2"),
    "bfloat16": ml_dtypes.bfloat16}
BITS = {"uint8": 8, "int8": 8, "uint16": 16, "int16": 16, "int32": 32, "uint4": 4, "int4": 4,
        "uint2": 2, "int2": 2, "float4e2m1": 4, "float6e2m3": 6, "float6e3m2": 6,
        "float8e4m3fn": 8, "float8e4m3fnuz": 8,
        "float8e5m2": 8, "float8e5m2fnuz": 8, "float8e8m0": 8, "float32": 32, "float16": 16,
        "bfloat16": 16}
INPUTS = ["uint8", "int8", "uint16", "int16", "int32", "uint4", "int4", "uint2", "int2",
          "float4e2m1", "float6e2m3", "float6e3m2",
          "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]
FLOAT4 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])


def opset_of(element):
    """An opset that has the element, and that ONNX Runtime has unless only the newest one does."""
    return 28 if element.startswith("float6") else 25


def onnx_code(element):
    """The number in TensorProto.DataType: FLOAT8E4M3FN is spelled there as here, float32 is not."""
    names = {"float32": "FLOAT"}
    return getattr(TensorProto, names.get(element, element.upper()))


def element_of(code):
    return next(e for e in BITS if onnx_code(e) == code)


@dataclasses.dataclass
class Codes:
    """A tensor as the codes of its elements, unsigned, one array entry each."""
    element: str
    codes: np.ndarray

    def values(self):
        """The numbers the codes stand for, exactly, as float64."""
        codes = self.codes.astype(np.int64)
        if self.element == "float4e2m1":
            return np.where(codes & 8, -1.0, 1.0) * FLOAT4[codes & 7]
        if self.element in FLOATS:
            unsigned = np.dtype(f"<u{max(BITS[self.element] // 8, 1)}")
            return self.codes.astype(unsigned).view(FLOATS[self.element]).astype(np.float64)
        width = BITS[self.element]
        if self.element.startswith("int"):
            codes = np.where(codes >= 1 << (width - 1), codes - (1 << width), codes)
        return codes.astype(np.float64)

    def packed(self):
        """The bytes of raw_data: little-endian, small elements a stream of bits, the lowest
        first."""
        width = BITS[self.element]
        codes = self.codes.reshape(-1).astype(np.uint64)
        if width >= 8:
            return codes.astype(f"<u{width // 8}").tobytes()
        stream = codes[:, np.newaxis] >> np.arange(width, dtype=np.uint64) & np.uint64(1)
        return np.packbits(stream.astype(np.uint8), bitorder="little").tobytes()

    def array(self):
        """As numpy has it: its own type, or codes in bytes or 16 bits."""
        if self.element in ("int2", "int4", "int8", "int16", "int32"):
            return self.values().astype(f"i{max(BITS[self.element] // 8, 1)}")
        if self.element in ("float16", "float32"):
            return self.values().astype(FLOATS[self.element])
        return self.codes.astype("u1" if BITS[self.element] <= 8 else "u2")

    def tensor(self, name):
        return helper.make_tensor(name, onnx_code(self.element), self.codes.shape, self.packed(),
                                  raw=True)


def codes(element, array):
    return Codes(element, np.asarray(array, np.int64) & ((1 << BITS[element]) - 1))


def floats(array, element="float32"):
    """The codes of some numbers in a float type."""
    array = np.asarray(array, FLOATS[element])
    return Codes(element, array.view(f"<u{BITS[element] // 8}").astype(np.int64))


def random_codes(rng, element, shape):
    """Any codes, but no float8e8m0 so large or small that all products would be alike."""
    low, high = (117, 137) if element == "float8e8m0" else (0, 1 << BITS[element])
    return Codes(element, rng.integers(low, high, shape))


def dequantized(x, scale, zero_point=None, axis=1, block_size=0, output=None):
    """y = narrow(fl32(fl32(x - zero_point) * fl32(scale))): one rounding of the difference, which
    is exact for all types but int32, one of the product, one to the output. Returns Codes."""
    def expand(values):
        if values.size == 1 and block_size == 0:
            return values.reshape(())
        if block_size == 0:
            shape = [1] * x.codes.ndim
            shape[axis] = -1
            return values.reshape(shape)
        most = [slice(None)] * x.codes.ndim
        most[axis] = slice(x.codes.shape[axis])
        return np.repeat(values, block_size, axis)[tuple(most)]

    with np.errstate(all="ignore"):
        difference = x.values()
        if zero_point is not None:
            difference = difference - expand(zero_point.values())
        y = difference.astype(np.float32) * expand(scale.values()).astype(np.float32)
        return floats(y.astype(FLOATS[output or scale.element]), output or scale.element)


def assert_same(actual, expected):
    """The same type, shape and bits; any NaN is like any other."""
    assert (actual.element, actual.codes.shape) == (expected.element, expected.codes.shape)
    nan = np.isnan(actual.values()) & np.isnan(expected.values())
    different = (actual.codes != expected.codes) & ~nan
    assert not different.any(), (
        f"{different.sum()} of {different.size} differ, first at {np.argwhere(different)[0]}")


def codes_of(array):
    """A numpy array of a float type as Codes."""
    element = {np.dtype(t): e for e, t in FLOATS.items()}[array.dtype]
    return Codes(element, array.view(f"<u{array.itemsize}").astype(np.int64))
