// Shorter ways to the bits of an affine formula, and when they lead there.
#include "kernel/formula_ways.h"

#include <algorithm>
#include <cmath>

namespace dequant {
namespace {

/// Zero, or so far from the limits of double that no product or quotient of such numbers and of
/// codes comes near them.
bool is_moderate(double value) {
  const double magnitude = std::fabs(value);
  return value == 0 || (magnitude >= 0x1p-500 && magnitude <= 0x1p500);
}

}  // namespace

/// Of a moderate a and an integer divisor up to 2^32, the quotient is the rounded one. Before its
/// last rounding the sum is off by less than 2^-104 of itself: low is at most 2^-53 of high, and
/// itself and its product are each off by 2^-53. No midpoint between two doubles is that near: a,
/// and divisor times a midpoint, are integers in units of half the last place of the quotient; they
/// are not equal, as the odd part of the latter has 54 bits or more; so the quotient is at least
/// 2^-54 / divisor of itself away from a midpoint. A low that is not negative keeps the sign of a
/// zero.
DoubleFormula double_formula(const AffineFormula& formula) noexcept {
  const double divisor = formula.divisor;
  if (divisor == 1)
    return {formula, 1, 0, is_moderate(formula.factor) && is_moderate(formula.base)};
  const double high = 1 / divisor;
  const double low = std::fma(-high, divisor, 1.0) / divisor;
  const bool integer = divisor >= 1 && divisor <= 0x1p32 && divisor == std::floor(divisor);
  return {formula, high, low,
          integer && low >= 0 && is_moderate(formula.factor) && is_moderate(formula.base)};
}

/// Step and base are cut in two: what lies on a grid so coarse that d * step + base is exact, and
/// the rest. So one rounding is left that matters, that of the last sum, whose second part is off
/// by less than 2^-16 of the last place of the result.
SplitFormula split_formula(const AffineFormula& formula, int32_t lowest) noexcept {
  const double highest = lowest + 255.0;
  const double slope = formula.factor / formula.divisor;
  const auto value = [&](double code) { return formula.base + (code - formula.shift) * slope; };
  const double largest = std::max(std::fabs(value(lowest)), std::fabs(value(highest)));
  if (!(largest >= 0x1p-90 && largest <= 0x1p90)) return {};

  // Near the centre results are small, and so is d: there a step that is a little off does no harm.
  const double crossing = formula.shift - formula.base / slope;
  const double centre = std::nearbyint(std::clamp<double>(crossing, lowest, highest));
  const double base = value(centre);
  // float32 holds all of the grid up to the largest result.
  int exponent = 0;
  std::frexp(largest, &exponent);
  const double grid = std::ldexp(1.0, exponent - 24);
  const auto on_grid = [=](double v) { return std::nearbyint(v / grid) * grid; };
  return {.centre = static_cast<int32_t>(centre),
          .step = static_cast<float>(on_grid(slope)),
          .base = static_cast<float>(on_grid(base)),
          .small_step = static_cast<float>(slope - on_grid(slope)),
          .small_base = static_cast<float>(base - on_grid(base))};
}

}  // namespace dequant
