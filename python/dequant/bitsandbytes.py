"""Checkpoints of bitsandbytes: nf4, fp4.

Written by scripts/scheme_modules.py.
"""

from ._scheme import function

__all__ = ["dequantize"]

dequantize = function("bitsandbytes")
