"""DequantizeLinear of ai.onnx, versions 10, 13, 19, 21, 23, 24, 25 and 28."""

from ._core import onnx as _core
from ._function import public as _public

__all__ = ["dequantize_linear"]

dequantize_linear = _public(_core.dequantize_linear, __name__)
