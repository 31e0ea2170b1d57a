// The scalar definition of dequantization, one element at a time. Every kernel must give the bits
// of these functions, which are never optimized. In formulas, narrow() is the rounding to the
// output.
#pragma once

#include <cstdint>

#include "dequant/element.h"
#include "element/arithmetic.h"

namespace dequant {

/// fl32(x - zero_point): for integers the exact difference, rounded once; for floats, whose zero
/// point is zero, the value of the code.
float reference_difference(Element x, uint32_t code, int64_t zero_point) noexcept;

/// The output code of a float32 value, rounded to nearest even. Every NaN becomes the canonical
/// NaN.
uint32_t reference_narrow(Element output, float value) noexcept;

/// Rule::subtract_then_scale: the output code narrow(fl32(fl32(x - zero_point) * scale)).
uint32_t reference_dequantize(Element x, uint32_t code, int64_t zero_point, float scale,
                              Element output) noexcept;

/// Zero point `i` of a 32-bit word of zero points, after one addition to the word that adds
/// `offset` to every zero point. A carry changes the next zero point.
int32_t reference_carried_zero_point(Element zero_point, uint32_t word, int i,
                                     uint32_t offset) noexcept;

/// The output code under a zero point that is a float of `type`:
/// narrow(fl32(round(fl32(x - zero_point)) * scale)), where round() rounds to `type`.
uint32_t reference_float_zero_point(float x, Element type, float zero_point, float scale,
                                    Element output) noexcept;

/// The number of `type`, a type of outputs, that is nearest to a float32 value, ties to even. NaN
/// becomes the canonical NaN.
float reference_round(Element type, float value) noexcept;

/// What is done with a product after the multiplication by its scale. The defaults change nothing.
struct AfterProduct {
  float factor = 1;
  Element rounding = Element::float32;  ///< the type to which every result is rounded
  bool subtracts = false;               ///< the zero point is subtracted, not added
};

/// The output code of a product and a zero point that is added after it, -0 where there is none:
/// narrow(round(fl32(round(fl32(product * factor)) + zero_point))), where round() rounds to
/// after.rounding.
uint32_t reference_after_product(float product, const AfterProduct& after, float zero_point,
                                 Element output) noexcept;

/// The output code of a value of a codebook: narrow(fl32(value * scale)).
uint32_t reference_scaled_value(float value, float scale, Element output) noexcept;

/// The rules of ranges: the output code of an integer x,
/// narrow(fl32(fl32(fl32(fl32(x) - fl32(shift)) * scale) + offset)).
uint32_t reference_scale_add(Element x, uint32_t code, int32_t shift, float scale, float offset,
                             Element output) noexcept;

/// The documented rules: the float32 code of an integer x, fl32(base + (x - shift) * factor /
/// divisor). The operations before fl32() are in double, and each is rounded.
uint32_t reference_formula(Element x, uint32_t code, const AffineFormula& formula) noexcept;

}  // namespace dequant
