// Tables of the value of every code, for the floats of at most 8 bits.
#pragma once

#include "dequant/element.h"

namespace dequant {

/// 256 values for an 8-bit float, 16 for a 4-bit one; null for integers. Behind them lie as many lower
/// bytes of their bfloat16 codes, and as many upper ones: every value is a bfloat16.
const float* lut_of(Element element) noexcept;

}  // namespace dequant
