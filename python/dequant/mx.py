"""The OCP formats MXFP4, MXFP6 and MXFP8."""

from ._scheme import function

__all__ = ["dequantize"]

dequantize = function("mx")
