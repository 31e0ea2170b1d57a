"""DequantizeLinear of ai.onnx, versions 10, 13, 19, 21, 23, 24, 25 and 28."""

from ._core.onnx import dequantize_linear

__all__ = ["dequantize_linear"]
