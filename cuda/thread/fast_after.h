// Plans that do more than multiply a difference by a scale: float zero points, offsets of ranges,
// second factors and roundings. Each step is decided once for a vector.
#pragma once

#include <cstdint>

#include "cuda/plan/fast_plan.h"
#include "cuda/thread/fast_store.h"

namespace dequant::cuda {

/// Rounds two values each with one instruction. NaN stays some NaN.
template <Element kTo, int kCount>
DEQUANT_HD inline void round_pairs(Vector<float, kCount>& y) noexcept {
  for (int j = 0; j < kCount; j += 2) {
    const uint32_t both = narrow_two_numbers<kTo>(y[j], y[j + 1]);
    for (int k = 0; k < 2; ++k) {
      const uint32_t code = both >> (16 * k) & 0xFFFF;
      y[j + k] = kTo == Element::float16 ? widen_float16(code) : widen_bfloat16(code);
    }
  }
}

/// rounded_to() of a type of outputs.
template <int kCount>
DEQUANT_HD inline void round_all(FloatFormat format, Vector<float, kCount>& y) noexcept {
  if (format.bits == 32) return;
  if (format.mantissa_bits == 10) return round_pairs<Element::float16>(y);
  round_pairs<Element::bfloat16>(y);
}

/// True if finish() may make NaN of numbers. With a finite scale and offset each product, sum and
/// rounding is a number or infinite; infinities only meet finite offsets, and factors but 0.
DEQUANT_HD inline bool finish_may_give_nan(const Computation& p, float scale,
                                           float offset) noexcept {
  return !is_finite(scale) || !is_finite(offset) || !is_finite(p.result_factor) ||
         p.result_factor == 0;
}

/// From differences of codes and integer zero points to results. `scale` is the scale of a group,
/// `offset` the float zero point of the group or the offset of its range.
template <bool kMayHaveRanges, int kCount>
DEQUANT_HD inline void finish(const Computation& p, float scale, float offset,
                              Vector<float, kCount>& y) noexcept {
  const bool has_ranges = kMayHaveRanges && p.difference == Difference::shifted;
  if (p.difference == Difference::float_zero) {
    for (int j = 0; j < kCount; ++j) y[j] = y[j] - offset;
    round_all(p.zero_point.format, y);
  } else if (has_ranges) {
    const auto shift = static_cast<float>(p.shift);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] - shift;
  }
  for (int j = 0; j < kCount; ++j) y[j] = y[j] * scale;
  if (has_ranges) {
    for (int j = 0; j < kCount; ++j) y[j] = y[j] + offset;
  }
  if (!p.has_after) return;
  if (p.result_factor != 1) {
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * p.result_factor;
  }
  round_all(p.result_rounding, y);
  if (p.subtracts_zero_point) {
    for (int j = 0; j < kCount; ++j) y[j] = y[j] - offset;
  } else if (p.adds_zero_point) {
    for (int j = 0; j < kCount; ++j) y[j] = y[j] + offset;
  } else {
    return;  // rounded already
  }
  round_all(p.result_rounding, y);
}

}  // namespace dequant::cuda
