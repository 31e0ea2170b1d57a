"""WebNN's dequantizeLinear."""

from ._core import webnn as _core
from ._function import public as _public

__all__ = ["dequantize_linear"]

dequantize_linear = _public(_core.dequantize_linear, __name__)
