"""Checkpoints of OCP MXFP4, MXFP6, MXFP8: compressed-tensors, ModelOpt, Quark, DeepSeek-V4.

Written by scripts/scheme_modules.py.
"""

from ._scheme import function

__all__ = ["dequantize"]

dequantize = function("mx")
