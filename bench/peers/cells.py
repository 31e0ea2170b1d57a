"""The cells to compare, and their tensors: dequant and all peers read the same bytes."""

import dataclasses
import math
import mmap

import ml_dtypes
import numpy as np

AXIS = 4096  # channels of the last axis
CHANNELS = 256  # channels of the first axis
BLOCK = 32
SIZES = {"256Ki": 1 << 18, "256Mi": 1 << 28}  # outputs that fit in the caches, and larger ones

BITS = {"int4": 4, "uint8": 8, "int8": 8, "float8e4m3fn": 8, "int16": 16, "int32": 32}
FLOATS = {"float32": np.dtype(np.float32), "float16": np.dtype(np.float16),
          "bfloat16": np.dtype(ml_dtypes.bfloat16)}
# Ranges of the random zero points, around the middle of each type; None: no zero point.
ZERO_POINTS = {"int4": (-8, 8), "uint8": (100, 156), "int8": (-20, 20), "int16": (-500, 500),
               "int32": None, "float8e4m3fn": None}


@dataclasses.dataclass(frozen=True)
class Cell:
    x: str
    y: str
    granularity: str  # per tensor, last axis, first axis, blocked 32
    rule: str = "DequantizeLinear"  # or a mode of TensorFlow's Dequantize

    @property
    def name(self):
        how = self.granularity if self.rule == "DequantizeLinear" else self.rule
        return f"{self.x} -> {self.y}, {how}"

    def shape(self, elements):
        if self.granularity == "per tensor":
            return (elements,)
        if self.granularity == "first axis":
            return (CHANNELS, elements // CHANNELS)
        return (elements // AXIS, AXIS)

    def scale_shape(self, elements):
        return {"per tensor": (), "last axis": (AXIS,), "first axis": (CHANNELS,),
                "blocked 32": (elements // AXIS, AXIS // BLOCK)}[self.granularity]

    @property
    def axis(self):
        return 0 if self.granularity == "first axis" else 1

    @property
    def linear(self):
        return self.rule == "DequantizeLinear"


CELLS = [
    Cell("uint8", "float32", "per tensor"),
    Cell("int8", "float32", "per tensor"),
    Cell("uint8", "float32", "last axis"),
    Cell("uint8", "float32", "first axis"),
    Cell("int8", "float32", "blocked 32"),
    Cell("int4", "float32", "blocked 32"),
    Cell("int4", "float16", "blocked 32"),
    Cell("uint8", "float16", "per tensor"),
    Cell("uint8", "bfloat16", "per tensor"),
    Cell("float8e4m3fn", "float32", "per tensor"),
    Cell("float8e4m3fn", "float16", "per tensor"),
    Cell("float8e4m3fn", "bfloat16", "per tensor"),
    Cell("int16", "float32", "per tensor"),
    Cell("int32", "float32", "per tensor"),
    Cell("uint8", "float32", "per tensor", "MIN_COMBINED"),
    Cell("uint8", "float32", "per tensor", "MIN_FIRST"),
    Cell("uint8", "float32", "per tensor", "SCALED"),
]


class Tensors:
    """The inputs of a cell. `x` and `zero_point` are packed bytes as in ONNX; `zero_point` is None
    for types without zero point. `min_range` and `max_range` are for TensorFlow."""

    def __init__(self, cell, elements):
        random = np.random.default_rng(elements)
        self.shape, self.scale_shape = cell.shape(elements), cell.scale_shape(elements)
        self.x = CODES.get(elements * BITS[cell.x] // 8)
        scale = random.uniform(0.01, 0.05, self.scale_shape)
        self.scale = np.asarray(scale).astype(FLOATS[cell.y])
        self.zero_point = self._zero_point(cell, random)
        self.min_range, self.max_range = np.float32(-1.3), np.float32(2.7)

    def _zero_point(self, cell, random):
        if ZERO_POINTS[cell.x] is None:
            return None
        count = math.prod(self.scale_shape)
        if cell.x == "int4":  # the count is even in all cells
            return np.frombuffer(random.bytes(count // 2), np.uint8)
        drawn = random.integers(*ZERO_POINTS[cell.x], self.scale_shape)
        return np.asarray(drawn).astype(cell.x).reshape(-1).view(np.uint8)

    def typed(self, cell):
        """x as a numpy array with its shape and type; int4 as bytes with two codes each."""
        if cell.x == "int4":
            return self.x.reshape(*self.shape[:-1], -1)
        kind = ml_dtypes.float8_e4m3fn if cell.x == "float8e4m3fn" else cell.x
        return self.x.view(kind).reshape(self.shape)

    def zero_points(self, cell):
        """One integer for each scale."""
        if cell.x == "int4":
            codes = np.stack([self.zero_point & 15, self.zero_point >> 4],
                             -1).reshape(self.scale_shape)
            return ((codes ^ 8).astype(np.int8) - np.int8(8))
        return self.zero_point.view(cell.x).reshape(self.scale_shape)


class Memory:
    """Memory that the cells of a process reuse, written once; it grows to the largest requested
    size. It is on huge pages if the system grants them. With small pages the competition for cache
    sets is random and can change times by half."""

    def __init__(self, pattern):
        self.pattern, self.bytes = pattern, np.empty(0, np.uint8)

    def get(self, size):
        if size > self.bytes.size:
            self.bytes = np.empty(0, np.uint8)  # frees the old memory first
            page = 1 << 21
            area = mmap.mmap(-1, size + page)
            if hasattr(mmap, "MADV_HUGEPAGE"):
                area.madvise(mmap.MADV_HUGEPAGE)
            whole = np.frombuffer(area, np.uint8)
            start = -whole.ctypes.data % page
            self.bytes = whole[start:start + size]
            for begin in range(0, size, self.pattern.size):
                part = self.bytes[begin:begin + self.pattern.size]
                part[:] = self.pattern[:part.size]
        return self.bytes[:size]


CODES = Memory(np.frombuffer(np.random.default_rng(1).bytes(1 << 22), np.uint8))
OUTPUT = Memory(np.zeros(1 << 22, np.uint8))


def output(cell, elements):
    return OUTPUT.get(elements * FLOATS[cell.y].itemsize)


def differing(ours, theirs, y):
    """The number of elements with different bits; all NaN are equal."""
    kind = FLOATS[y]
    bits = f"u{kind.itemsize}"
    unequal = ours.view(bits) != theirs.view(bits)
    unequal &= ~(np.isnan(ours.view(kind)) & np.isnan(theirs.view(kind)))
    return int(unequal.sum())
