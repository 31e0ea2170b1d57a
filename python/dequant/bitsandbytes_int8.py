"""Checkpoints of bitsandbytes: LLM.int8.

Written by scripts/scheme_modules.py.
"""

from ._scheme import function

__all__ = ["dequantize"]

dequantize = function("bitsandbytes_int8")
