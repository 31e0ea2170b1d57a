// Scale, offset and formula from one pair of min_range and max_range, for each rule of ranges. Each
// operation of the kernel rules rounds once to float32, each of the documented rules once to
// double; docs/numerics.md has the formulas. Kernels of devices share these functions.
#pragma once

#include <cmath>
#include <cstdint>

#include "dequant/plan.h"
#include "element/arithmetic.h"
#include "host_device.h"

namespace dequant {

/// The codes of an integer type: the lowest and highest one, and how many there are.
struct CodeLimits {
  int64_t lowest;
  int64_t highest;
  int64_t count;
};

inline CodeLimits code_limits(Element x) noexcept {
  const int64_t count = int64_t{1} << bits(x);
  const int64_t lowest = kind(x) == Kind::signed_integer ? -count / 2 : 0;
  return {lowest, lowest + count - 1, count};
}

/// True for the rules whose arithmetic is an AffineFormula.
constexpr bool is_documented(Rule rule) noexcept { return rule >= Rule::documented_min_combined; }

/// True for the rules that add an offset to the product.
constexpr bool adds_offset(Rule rule) noexcept {
  return rule == Rule::min_combined || rule == Rule::min_first;
}

/// The integer subtracted from a code before it is scaled: the lowest code for min_combined, else
/// 0.
constexpr int32_t shift_of(Rule rule, const CodeLimits& codes) noexcept {
  return rule == Rule::min_combined ? static_cast<int32_t>(codes.lowest) : 0;
}

/// y = fl32(fl32(fl32(fl32(x) - fl32(shift)) * scale) + offset). The offset of a rule that does not
/// add is 0.
struct ScaleAndOffset {
  float scale;
  float offset;
};

DEQUANT_HD inline ScaleAndOffset min_first_params(const CodeLimits& codes, float min,
                                                  float max) noexcept {
  const float width = max - min;
  const auto scale =
      static_cast<float>(static_cast<double>(width) / static_cast<double>(codes.count - 1));
  // min moves to the nearest multiple of the scale, so that real zero has a code.
  float on_grid = min;
  if (max != min) {
    const float steps = std::round(min / scale);  // halves away from zero
    on_grid = steps * scale;
  }
  const float lowest = static_cast<float>(codes.lowest) * scale;
  return {scale, on_grid - lowest};
}

DEQUANT_HD inline ScaleAndOffset min_combined_params(const CodeLimits& codes, float min,
                                                     float max) noexcept {
  // 255, 65535, or 2^32: the difference of the int32 limits as floats.
  const float span = static_cast<float>(codes.highest) - static_cast<float>(codes.lowest);
  return {(max - min) / span, min};
}

/// Of Rule::scaled and Rule::scaled_narrow_range.
DEQUANT_HD inline ScaleAndOffset scaled_params(Rule rule, const CodeLimits& codes, float min,
                                               float max) noexcept {
  const auto highest = static_cast<float>(codes.highest);
  const float from_max = max / highest;
  if (codes.lowest == 0) return {from_max, 0};
  const float from_min =
      min / static_cast<float>(codes.lowest + (rule == Rule::scaled_narrow_range ? 1 : 0));
  // As std::max: the first unless it is less, so a NaN of min stays and one of max does not.
  return {from_min < from_max ? from_max : from_min, 0};
}

/// Of the rules that are not documented.
DEQUANT_HD inline ScaleAndOffset range_params_of(Rule rule, const CodeLimits& codes, float min,
                                                 float max) noexcept {
  if (rule == Rule::min_combined) return min_combined_params(codes, min, max);
  if (rule == Rule::min_first) return min_first_params(codes, min, max);
  return scaled_params(rule, codes, min, max);
}

/// Of the documented rules.
DEQUANT_HD inline AffineFormula documented_formula_of(Rule rule, const CodeLimits& codes,
                                                      float min_range, float max_range) noexcept {
  const auto count = static_cast<double>(codes.count);
  const double min = min_range;
  const double max = max_range;
  const double width = max - min;
  if (rule == Rule::documented_min_combined) {
    // The page moves only qint8 to start at zero.
    const bool is_int8 = codes.lowest == -128 && codes.count == 256;
    return {is_int8 ? -128 : 0, width, count - 1, min};
  }
  if (rule == Rule::documented_min_first) {
    const double adjust = count / (count - 1);
    const double range = width * adjust;
    return {static_cast<int32_t>(codes.lowest), range / count, 1, min};
  }
  // The larger magnitude; of a NaN, that of min stays.
  const double of_min = std::fabs(min);
  const double of_max = std::fabs(max);
  const double largest = min != min ? min : of_max < of_min ? of_min : of_max;
  // The lowest code of a signed type is left out, so that the codes are symmetric.
  const auto steps =
      static_cast<double>(codes.highest - (codes.lowest == 0 ? 0 : codes.lowest + 1));
  return {0, 2 * largest / steps, 1, -0.0};
}

}  // namespace dequant
