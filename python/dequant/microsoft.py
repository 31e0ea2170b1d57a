"""com.microsoft DequantizeLinear, version 1, of ONNX Runtime."""

from ._core.microsoft import dequantize_linear

__all__ = ["dequantize_linear"]
