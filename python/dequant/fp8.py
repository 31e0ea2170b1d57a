"""Checkpoints of DeepSeek, Qwen, Kimi, Mistral, vLLM, ComfyUI.

Written by scripts/scheme_modules.py.
"""

from ._scheme import function

__all__ = ["dequantize"]

dequantize = function("fp8")
