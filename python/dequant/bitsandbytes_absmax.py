"""Checkpoints of bitsandbytes: scales with double quantization.

Written by scripts/scheme_modules.py.
"""

from ._scheme import function

__all__ = ["dequantize"]

dequantize = function("bitsandbytes_absmax")
