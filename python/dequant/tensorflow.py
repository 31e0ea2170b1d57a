"""tf.quantization.dequantize: MIN_COMBINED, MIN_FIRST and SCALED."""

from ._core import tensorflow as _core
from ._function import public as _public

__all__ = ["dequantize"]

dequantize = _public(_core.dequantize, __name__)
