// Coefficients of the faster forms of an affine formula, with the proofs of their results.
#include "kernel/formula_ways.h"

#include <algorithm>
#include <cmath>

namespace dequant {
namespace {

/// True for zero and for magnitudes from 2^-500 to 2^500: products and quotients of such numbers,
/// codes and divisors neither overflow nor become subnormal in double.
bool is_moderate(double value) {
  const double magnitude = std::fabs(value);
  return value == 0 || (magnitude >= 0x1p-500 && magnitude <= 0x1p500);
}

}  // namespace

/// For a moderate a and an integer divisor up to 2^32, fl(a * high + fl(a * low)) is the correctly
/// rounded quotient a / divisor. Proof:
/// - Before the last rounding, the relative error of the sum is below 2^-104: low is at most 2^-53
///   of high, and low and the product a * low each have a relative error of at most 2^-53.
/// - No midpoint between two doubles is so close to the quotient. Let u be half a unit in the last
///   place of the quotient. a and divisor * midpoint are integer multiples of u. They differ, as
///   the odd part of divisor * midpoint has 54 bits or more, and that of a at most 53. So the
///   quotient is at least u / divisor away from the midpoint. Relative to the quotient the distance
///   is more than 2^-54 / divisor, which is at least 2^-86.
/// - If a is zero, the sum keeps the sign of a because low is not negative.
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

/// `step` and `base` are the slope and the value at the centre, rounded to a grid so coarse that
/// d * step + base is exact in float32. small_step and small_base are the differences from the
/// exact numbers. So only the rounding of the last sum matters: the error of
/// d * small_step + small_base is below 2^-16 of the last place of the result.
SplitFormula split_formula(const AffineFormula& formula, int32_t lowest) noexcept {
  const double highest = lowest + 255.0;
  const double slope = formula.factor / formula.divisor;
  const auto value = [&](double code) { return formula.base + (code - formula.shift) * slope; };
  const double largest = std::max(std::fabs(value(lowest)), std::fabs(value(highest)));
  if (!(largest >= 0x1p-90 && largest <= 0x1p90)) return {};

  // The centre is the code whose result is nearest to zero. Where results are small, d is then
  // small too, and the error of small_step hardly counts.
  const double crossing = formula.shift - formula.base / slope;
  const double centre = std::nearbyint(std::clamp<double>(crossing, lowest, highest));
  const double base = value(centre);
  // float32 holds every multiple of `grid` up to the largest result.
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
