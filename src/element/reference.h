// The scalar definition of dequantization, one element at a time. The arbiter of every kernel; it is
// never optimized.
#pragma once

#include <cstdint>

#include "dequant/element.h"

namespace dequant {

/// fl32(x - zero_point): the exact difference of two integer codes rounded once, or the value of a
/// floating-point code, whose zero point is zero.
float reference_difference(Element x, uint32_t code, int64_t zero_point) noexcept;

/// A float32 as a code of an output type, rounded to nearest even; any NaN becomes the canonical one.
uint32_t reference_narrow(Element output, float value) noexcept;

/// Rule::subtract_then_scale: the output code for one x code.
uint32_t reference_dequantize(Element x, uint32_t code, int64_t zero_point, float scale,
                              Element output) noexcept;

}  // namespace dequant
