// Shorter ways than double divisions to the bits of an affine formula: what kernels need of them,
// worked out once for each kernel call.
#pragma once

#include <array>
#include <cstdint>

#include "element/reference.h"

namespace dequant {

/// An affine formula whose quotients need no division: a / divisor is fl(a * high + fl(a * low))
/// with a fused multiplication and addition, in double.
struct DoubleFormula {
  const AffineFormula& formula;
  double high;  ///< fl(1 / divisor)
  double low;   ///< fl(1 / divisor - high)
  bool exact;   ///< the bits are those of reference_formula(), and no result is a NaN
};

DoubleFormula double_formula(const AffineFormula& formula) noexcept;

/// An affine formula for 256 codes in float32. With d = x - centre: fl(fl(d * step + base) + fl(d *
/// small_step
/// + small_base)), the inner sums fused or not.
struct SplitFormula {
  int32_t centre = 0;
  float step = 0;
  float base = 0;
  float small_step = 0;
  float small_base = 0;
};

/// What comes nearest to an affine formula over the codes from `lowest` on. Of 100 formulas 99 have
/// it give the bits of reference_formula() for every code; of the others a code or two differ.
/// Callers look.
SplitFormula split_formula(const AffineFormula& formula, int32_t lowest) noexcept;

/// All codes of 8 bits, for that look.
inline constexpr auto kAllCodes = [] {
  std::array<uint8_t, 256> codes{};
  for (unsigned i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i);
  return codes;
}();

}  // namespace dequant
