"""tf.quantization.dequantize: MIN_COMBINED, MIN_FIRST and SCALED."""

from ._core.tensorflow import dequantize

__all__ = ["dequantize"]
