// Scales, offsets and formulas from TensorFlow's min_range and max_range, for many pairs.
#pragma once

#include <cstdint>

#include "dequant/plan.h"
#include "element/reference.h"
#include "plan/ranges.h"

namespace dequant {

/// shift_of() of the codes of x.
int32_t shift_of(Rule rule, Element x) noexcept;

/// Scales and offsets of min_combined, min_first, scaled and scaled_narrow_range, for `count` pairs
/// of ranges: y = fl32(fl32(fl32(fl32(x) - fl32(shift)) * scale) + offset). The offset of a rule
/// that does not add is 0.
void range_params(Rule rule, Element x, int64_t count, const float* min_range,
                  const float* max_range, float* scale, float* offset) noexcept;

/// The formula of a documented rule.
AffineFormula documented_formula(Rule rule, Element x, float min_range, float max_range) noexcept;

}  // namespace dequant
