// Scales, offsets and formulas from TensorFlow's min_range and max_range, for each rule; the
// formulas are in docs/numerics.md.
#pragma once

#include <cstdint>

#include "dequant/plan.h"
#include "element/reference.h"

namespace dequant {

/// True for the rules whose arithmetic is an AffineFormula.
bool is_documented(Rule rule) noexcept;

/// True for the rules that add an offset to the product.
bool adds_offset(Rule rule) noexcept;

/// The integer subtracted from a code before it is scaled: the lowest code for min_combined, else
/// 0.
int32_t shift_of(Rule rule, Element x) noexcept;

/// Scales and offsets of min_combined, min_first, scaled and scaled_narrow_range, for `count` pairs
/// of ranges: y = fl32(fl32(fl32(fl32(x) - fl32(shift)) * scale) + offset). The offset of a rule
/// that does not add is 0.
void range_params(Rule rule, Element x, int64_t count, const float* min_range,
                  const float* max_range, float* scale, float* offset) noexcept;

/// The formula of a documented rule.
AffineFormula documented_formula(Rule rule, Element x, float min_range, float max_range) noexcept;

}  // namespace dequant
