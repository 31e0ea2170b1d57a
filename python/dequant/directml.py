"""DirectML's DML_ELEMENT_WISE_DEQUANTIZE_LINEAR and DML_DEQUANTIZE, feature levels 1_0 to 6_4."""

from ._core.directml import dequantize, element_wise_dequantize_linear

__all__ = ["dequantize", "element_wise_dequantize_linear"]
