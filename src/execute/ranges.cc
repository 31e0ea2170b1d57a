// Many pairs of ranges, by the arithmetic of plan/ranges.h.
#include "execute/ranges.h"

#include <type_traits>

namespace dequant {

int32_t shift_of(Rule rule, Element x) noexcept { return shift_of(rule, code_limits(x)); }

void range_params(Rule rule, Element x, int64_t count, const float* min_range,
                  const float* max_range, float* scale, float* offset) noexcept {
  const CodeLimits codes = code_limits(x);
  // A loop for each rule, so that compilers vectorize it.
  const auto for_each_range = [&](auto of) {
    for (int64_t k = 0; k < count; ++k) {
      const ScaleAndOffset s = range_params_of(of.value, codes, min_range[k], max_range[k]);
      scale[k] = s.scale;
      offset[k] = s.offset;
    }
  };
  switch (rule) {
    case Rule::min_combined:
      return for_each_range(std::integral_constant<Rule, Rule::min_combined>());
    case Rule::min_first: return for_each_range(std::integral_constant<Rule, Rule::min_first>());
    case Rule::scaled: return for_each_range(std::integral_constant<Rule, Rule::scaled>());
    default: return for_each_range(std::integral_constant<Rule, Rule::scaled_narrow_range>());
  }
}

AffineFormula documented_formula(Rule rule, Element x, float min_range, float max_range) noexcept {
  return documented_formula_of(rule, code_limits(x), min_range, max_range);
}

}  // namespace dequant
