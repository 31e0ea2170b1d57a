"""Checkpoints of transformers (BitNet).

Written by scripts/scheme_modules.py.
"""

from ._scheme import function

__all__ = ["dequantize"]

dequantize = function("bitnet")
