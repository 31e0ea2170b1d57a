"""DirectML's DML_ELEMENT_WISE_DEQUANTIZE_LINEAR and DML_DEQUANTIZE, feature levels 1_0 to 6_4."""

from ._core import directml as _core
from ._function import public as _public

__all__ = ["dequantize", "element_wise_dequantize_linear"]

dequantize = _public(_core.dequantize, __name__)
element_wise_dequantize_linear = _public(_core.element_wise_dequantize_linear, __name__)
