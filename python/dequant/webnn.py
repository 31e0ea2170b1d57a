"""WebNN's dequantizeLinear."""

from ._core.webnn import dequantize_linear

__all__ = ["dequantize_linear"]
