// Two faster forms of an affine formula (reference_formula()): one in double without division, one
// in float32. Their coefficients are computed once for each kernel call.
#pragma once

#include <array>
#include <cstdint>

#include "element/reference.h"

namespace dequant {

/// An affine formula in double without division: a / divisor is computed as
/// fl(a * high + fl(a * low)), where one fused multiply-add does the outer product and sum.
struct DoubleFormula {
  const AffineFormula& formula;
  double high;  ///< fl(1 / divisor)
  double low;   ///< fl(1 / divisor - high)
  bool exact;   ///< true: all results have the bits of reference_formula(), and none is NaN
};

DoubleFormula double_formula(const AffineFormula& formula) noexcept;

/// An affine formula in float32, for elements with 256 codes. With d = x - centre the result is
///   fl(fl(d * step + base) + fl(d * small_step + small_base)),
/// with or without a rounding between the inner products and sums.
struct SplitFormula {
  int32_t centre = 0;
  float step = 0;
  float base = 0;
  float small_step = 0;
  float small_base = 0;
};

/// The coefficients for the 256 codes from `lowest` on. For 99 of 100 formulas, all codes get the
/// bits of reference_formula(); for the other formulas, one or two codes get different bits. So
/// callers compare the results of all codes before use. Where the largest result is outside
/// [2^-90, 2^90], all coefficients are zero.
SplitFormula split_formula(const AffineFormula& formula, int32_t lowest) noexcept;

/// All codes of 8 bits, for the comparison that split_formula() demands.
inline constexpr auto kAllCodes = [] {
  std::array<uint8_t, 256> codes{};
  for (unsigned i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i);
  return codes;
}();

}  // namespace dequant
