"""FP8 weights with one scale, one for each row, or one for each block."""

from ._scheme import function

__all__ = ["dequantize"]

dequantize = function("fp8")
