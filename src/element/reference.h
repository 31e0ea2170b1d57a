// The scalar definition of dequantization, one element at a time. The arbiter of every kernel; it
// is never optimized.
#pragma once

#include <cstdint>

#include "dequant/element.h"

namespace dequant {

/// fl32(x - zero_point): the exact difference of two integer codes rounded once, or the value of a
/// floating-point code, whose zero point is zero.
float reference_difference(Element x, uint32_t code, int64_t zero_point) noexcept;

/// A float32 as a code of an output type, rounded to nearest even; any NaN becomes the canonical
/// one.
uint32_t reference_narrow(Element output, float value) noexcept;

/// Rule::subtract_then_scale: the output code for one x code.
uint32_t reference_dequantize(Element x, uint32_t code, int64_t zero_point, float scale,
                              Element output) noexcept;

/// The zero point that is stored at index `i` of a word of several, after the word has got `offset`
/// in the place of each of them by one addition.
int32_t reference_carried_zero_point(Element zero_point, uint32_t word, int i,
                                     uint32_t offset) noexcept;

/// A zero point that is a float of `type`: narrow(fl32(round(fl32(x - zero_point)) * scale)),
/// round() being to `type`.
uint32_t reference_float_zero_point(float x, Element type, float zero_point, float scale,
                                    Element output) noexcept;

/// The rules of ranges, of an integer x:
/// narrow(fl32(fl32(fl32(fl32(x) - fl32(shift)) * scale) + offset)).
uint32_t reference_scale_add(Element x, uint32_t code, int32_t shift, float scale, float offset,
                             Element output) noexcept;

/// A straight line in double. Adding a base of -0 changes nothing, dividing by 1 neither.
struct AffineFormula {
  int32_t shift = 0;
  double factor = 1;
  double divisor = 1;
  double base = -0.0;
};

/// The documented rules, of an integer x: fl32(base + (x - shift) * factor / divisor), all but the
/// last step in double, each step rounded.
uint32_t reference_formula(Element x, uint32_t code, const AffineFormula& formula) noexcept;

}  // namespace dequant
