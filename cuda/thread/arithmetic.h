// From codes and parameters to float32 results, by the rules of docs/numerics.md.
#pragma once

#include <cstdint>

#include "cuda/thread/params.h"
#include "cuda/thread/vector.h"

namespace dequant::cuda {

/// What the scales multiply. The rule is the same for all threads, so that each case is a loop.
template <int kCount>
DEQUANT_HD inline void differences(const Computation& p, const Vector<uint32_t, kCount>& codes,
                                   const Vector<Params, kCount>& params,
                                   Vector<float, kCount>& y) noexcept {
  switch (p.difference) {
    case Difference::wide_integer:
      for (int j = 0; j < kCount; ++j) {
        const int64_t zero = p.loads_zero_point ? wide_value_of(p.zero_point, params[j].zero)
                                                : params[j].integer_zero();
        y[j] = static_cast<float>(wide_value_of(p.x, codes[j]) - zero);
      }
      return;
    case Difference::float_zero:
      for (int j = 0; j < kCount; ++j) {
        const auto x = static_cast<float>(value_of(p.x, codes[j]));
        const float difference = x - params[j].float_zero();
        y[j] = round_quickly(p.zero_point.format, difference);
      }
      return;
    case Difference::floating:
      for (int j = 0; j < kCount; ++j) y[j] = float_of(p.x.format, codes[j]);
      return;
    case Difference::codebook:
      for (int j = 0; j < kCount; ++j) y[j] = load_float32(p.codebook, codes[j]);
      return;
    default: {
      const bool is_after = p.adds_zero_point || p.subtracts_zero_point;
      for (int j = 0; j < kCount; ++j) {
        const int32_t zero = is_after ? 0 : params[j].integer_zero();
        y[j] = static_cast<float>(value_of(p.x, codes[j]) - zero);
      }
    }
  }
}

/// after_product() of results that are rounded again, or have a zero point after the product.
template <int kCount>
DEQUANT_HD inline void after_products(const Computation& p, const Vector<Params, kCount>& params,
                                      Vector<float, kCount>& y) noexcept {
  for (int j = 0; j < kCount; ++j) {
    const float scaled = y[j] * p.result_factor;
    const float rounded = round_quickly(p.result_rounding, scaled);
    float sum = rounded;
    if (p.subtracts_zero_point) {
      sum = rounded - params[j].float_zero();
    } else if (p.adds_zero_point) {
      sum = rounded + params[j].float_zero();
    }
    y[j] = round_quickly(p.result_rounding, sum);
  }
}

/// The results of kCount codes. NaN is some NaN.
template <int kCount>
DEQUANT_HD inline void results(const Computation& p, const Vector<uint32_t, kCount>& codes,
                               const Vector<Params, kCount>& params,
                               Vector<float, kCount>& y) noexcept {
  if (p.difference == Difference::shifted) {
    for (int j = 0; j < kCount; ++j) {
      const float sum =
          scale_add(wide_value_of(p.x, codes[j]), p.shift, params[j].scale, params[j].float_zero());
      y[j] = sum;
    }
    return;
  }
  if (p.difference == Difference::formula) {
    const AffineFormula formula =
        documented_formula_of(p.rule, p.limits, load_float(p.scale, 0), load_float(p.max_range, 0));
    for (int j = 0; j < kCount; ++j) y[j] = affine(wide_value_of(p.x, codes[j]), formula);
    return;
  }
  differences(p, codes, params, y);
  for (int j = 0; j < kCount; ++j) y[j] = y[j] * params[j].scale;
  if (p.has_after) after_products(p, params, y);
}

}  // namespace dequant::cuda
