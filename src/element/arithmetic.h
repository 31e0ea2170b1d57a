// The arithmetic of one element on values and formats. The scalar reference and the kernels of
// devices share these functions: one rounding in each statement.
#pragma once

#include <cstdint>

#include "element/float_code.h"

namespace dequant {

/// The number of a format of outputs that is nearest to a float32 value, ties to even. NaN becomes
/// the canonical NaN.
constexpr float rounded_to(FloatFormat format, float value) noexcept {
  return decode_float(format, encode_float(format, value));
}

/// x - zero_point under a zero point that is a float of `format`, rounded to float32 and then to
/// `format`.
constexpr float float_difference(float x, FloatFormat format, float zero_point) noexcept {
  const float difference = x - zero_point;
  return rounded_to(format, difference);
}

/// A product after its scale: round(fl32(round(fl32(product * factor)) + zero_point)), or less
/// zero_point if `subtracts`; round() rounds to `rounding`.
constexpr float after_product(float product, float factor, FloatFormat rounding, bool subtracts,
                              float zero_point) noexcept {
  const float scaled = product * factor;
  const float rounded = rounded_to(rounding, scaled);
  const float sum = subtracts ? rounded - zero_point : rounded + zero_point;
  return rounded_to(rounding, sum);
}

/// fl32(fl32(fl32(fl32(x) - fl32(shift)) * scale) + offset).
constexpr float scale_add(int64_t x, int32_t shift, float scale, float offset) noexcept {
  const auto value = static_cast<float>(x);
  const float shifted = value - static_cast<float>(shift);
  const float product = shifted * scale;
  const float sum = product + offset;
  return sum;
}

/// The coefficients of affine(). A base of -0 or a divisor of 1 changes no result.
struct AffineFormula {
  int32_t shift = 0;
  double factor = 1;
  double divisor = 1;
  double base = -0.0;
};

/// fl32(base + (x - shift) * factor / divisor). The operations before fl32() are in double, and
/// each is rounded.
constexpr float affine(int64_t x, const AffineFormula& formula) noexcept {
  const auto difference = static_cast<double>(x - formula.shift);
  const double product = difference * formula.factor;
  const double quotient = product / formula.divisor;
  const double sum = formula.base + quotient;
  return static_cast<float>(sum);
}

/// Zero point `i`, of `width` bits, of a 32-bit word of zero points, after one addition to the word
/// that adds `offset` to every zero point. A carry changes the next zero point.
constexpr int32_t carried_zero_point(int width, uint32_t word, int i, uint32_t offset) noexcept {
  uint32_t sum = word;
  for (int at = 0; at < 32; at += width) sum += offset << at;
  const uint32_t mask = (uint32_t{1} << width) - 1;
  return static_cast<int32_t>(sum >> (i * width) & mask);
}

}  // namespace dequant
