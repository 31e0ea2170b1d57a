// Scales, offsets and formulas from min_range and max_range. Each operation of the kernel rules
// rounds once to float32, each of the documented rules once to double.
#include "execute/ranges.h"

#include <algorithm>
#include <cmath>

namespace dequant {
namespace {

/// The lowest and highest code, and how many there are.
struct Codes {
  int64_t lowest;
  int64_t highest;
  int64_t count;
};

Codes codes_of(Element x) {
  const int64_t count = int64_t{1} << bits(x);
  const int64_t lowest = kind(x) == Kind::signed_integer ? -count / 2 : 0;
  return {lowest, lowest + count - 1, count};
}

/// The scale and the offset of one pair of ranges.
struct ScaleAndOffset {
  float scale;
  float offset;
};

ScaleAndOffset min_first(const Codes& codes, float min, float max) {
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

}  // namespace

bool is_documented(Rule rule) noexcept { return rule >= Rule::documented_min_combined; }

bool adds_offset(Rule rule) noexcept {
  return rule == Rule::min_combined || rule == Rule::min_first;
}

int32_t shift_of(Rule rule, Element x) noexcept {
  return rule == Rule::min_combined ? static_cast<int32_t>(codes_of(x).lowest) : 0;
}

void range_params(Rule rule, Element x, int64_t count, const float* min_range,
                  const float* max_range, float* scale, float* offset) noexcept {
  const Codes codes = codes_of(x);
  // A loop for each rule, so that compilers vectorize it.
  const auto for_each_range = [&](const auto& params_of) {
    for (int64_t k = 0; k < count; ++k) {
      const ScaleAndOffset s = params_of(min_range[k], max_range[k]);
      scale[k] = s.scale;
      offset[k] = s.offset;
    }
  };
  const auto highest = static_cast<float>(codes.highest);
  if (rule == Rule::min_combined) {
    // 255, 65535, or 2^32: the difference of the int32 limits as floats.
    const float span = highest - static_cast<float>(codes.lowest);
    return for_each_range([=](float min, float max) {
      return ScaleAndOffset{(max - min) / span, min};
    });
  }
  if (rule == Rule::min_first) {
    return for_each_range([&](float min, float max) { return min_first(codes, min, max); });
  }
  if (codes.lowest == 0)
    return for_each_range([=](float, float max) { return ScaleAndOffset{max / highest, 0}; });
  const auto lowest = static_cast<float>(codes.lowest + (rule == Rule::scaled_narrow_range));
  for_each_range([=](float min, float max) {
    const float from_min = min / lowest;
    const float from_max = max / highest;
    // As std::max: the first unless it is less, so a NaN of min stays and one of max does not.
    return ScaleAndOffset{from_min < from_max ? from_max : from_min, 0};
  });
}

AffineFormula documented_formula(Rule rule, Element x, float min_range, float max_range) noexcept {
  const Codes codes = codes_of(x);
  const auto count = static_cast<double>(codes.count);
  const double min = min_range;
  const double max = max_range;
  const double width = max - min;
  switch (rule) {
    case Rule::documented_min_combined:
      // The page moves only qint8 to start at zero.
      return {x == Element::int8 ? -128 : 0, width, count - 1, min};
    case Rule::documented_min_first: {
      const double adjust = count / (count - 1);
      const double range = width * adjust;
      return {static_cast<int32_t>(codes.lowest), range / count, 1, min};
    }
    case Rule::documented_scaled: {
      const double largest = std::isnan(min) ? min : std::max(std::fabs(max), std::fabs(min));
      // The lowest code of a signed type is left out, so that the codes are symmetric.
      const auto steps =
          static_cast<double>(codes.highest - (codes.lowest == 0 ? 0 : codes.lowest + 1));
      return {0, 2 * largest / steps, 1, -0.0};
    }
    default: return {};
  }
}

}  // namespace dequant
