"""DequantizeLinear of com.microsoft (ONNX Runtime), version 1."""

from ._core.microsoft import dequantize_linear

__all__ = ["dequantize_linear"]
