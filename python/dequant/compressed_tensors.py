"""Checkpoints of LLM Compressor, compressed-tensors, vLLM.

Written by scripts/scheme_modules.py.
"""

from ._scheme import function

__all__ = ["dequantize"]

dequantize = function("compressed_tensors")
