// Random plans with all that Parameters have.
#pragma once

#include <cmath>

#include "support/strided.h"

namespace dequant::testing {

/// Zero points of any element that may differ from that of x, with any offset and role.
inline void add_zero_points(Random& random, Plan& plan) {
  using enum Element;
  static constexpr std::array kIntegers{uint8, int8, uint4, int4, uint2, int2};
  static constexpr std::array kFloats{float32, float16, bfloat16};
  Parameters& p = plan.parameters;
  if (!plan.has_zero_point || kind(plan.input) == Kind::floating || bits(plan.input) > 16) {
    return;
  }
  if (random.in(0, 3) == 0 && bits(plan.input) <= 8) {
    p.zero_point = random.of(kFloats);
    p.zero_point_role = static_cast<ZeroPointRole>(random.in(0, 2));
    return;
  }
  if (bits(plan.input) > 8 || random.coin()) p.zero_point = random.of(kIntegers);
  p.zero_point_offset =
      static_cast<int32_t>(random.coin() ? random.in(-2, 2) : random.in(-256, 256));
  p.zero_point_overflow = static_cast<ZeroPointOverflow>(random.in(0, 2));
  if (p.zero_point_overflow == ZeroPointOverflow::carry &&
      kind(zero_point_element(plan)) == Kind::signed_integer) {
    p.zero_point_overflow = ZeroPointOverflow::wrap;
  }
}

/// True if a type of so many bits of precision holds x - zero_point for all codes of both.
inline bool holds_differences(const Plan& plan, Element type) {
  const Parameters& p = plan.parameters;
  if (p.codebook || kind(plan.input) == Kind::floating) return true;
  if (bits(plan.input) > 8) return false;
  const Element zero = zero_point_element(plan);
  const bool before = plan.has_zero_point && p.zero_point_role == ZeroPointRole::subtract_before;
  if (before && kind(zero) == Kind::floating) return zero == type;
  const auto codes = [](Element element, const Packing& packing) {
    return uint32_t{1} << (is_packed_by(packing) ? packing.bits : bits(element));
  };
  const auto value = [](Element element, const Packing& packing, uint32_t code) {
    if (!is_packed_by(packing)) return integer_value(element, code);
    const bool negative =
        kind(element) == Kind::signed_integer && (code >> (packing.bits - 1)) != 0;
    return int64_t{code} - (negative ? int64_t{1} << packing.bits : 0);
  };
  for (uint32_t x = 0; x < codes(plan.input, p.x_packing); ++x) {
    for (uint32_t z = 0; z < (before ? codes(zero, p.zero_point_packing) : 1); ++z) {
      const int64_t stored = before ? value(zero, p.zero_point_packing, z) : 0;
      const int64_t subtracted =
          before
              ? zero_by_definition(plan, static_cast<uint32_t>(stored) & ((1U << bits(zero)) - 1))
              : plan.implicit_zero_point;
      const auto difference = static_cast<float>(value(plan.input, p.x_packing, x) - subtracted);
      if (rounded(type, difference) != difference) return false;
    }
  }
  return true;
}

/// Roundings, a factor and a codebook, where the plan may have them.
inline void add_arithmetic(Random& random, Plan& plan) {
  using enum Element;
  static constexpr std::array kNarrow{float16, bfloat16};
  static constexpr std::array kFactors{0.007874015718698502F, -3.0F, 0.0F, 1e-38F, 65504.0F};
  Parameters& p = plan.parameters;
  const bool before = plan.has_zero_point && p.zero_point_role == ZeroPointRole::subtract_before;
  p.codebook = kind(plan.input) == Kind::unsigned_integer && bits(plan.input) <= 8 &&
               plan.implicit_zero_point == 0 && !before && random.coin();
  if (random.in(0, 2) == 0) p.scale_rounding = random.of(kNarrow);
  if (random.in(0, 3) == 0) p.result_factor = random.of(kFactors);
  const Element type = random.of(kNarrow);
  if (random.in(0, 2) == 0 && holds_differences(plan, type)) p.result_rounding = type;
}

/// Types and parameters, few of them as they are stored; no layouts and no group index.
inline Plan random_parameters(Random& random) {
  using enum Element;
  static constexpr std::array kScales{float32,    float32,    float16,     bfloat16,
                                      float8e8m0, float8e8m0, float8e4m3fn};
  static constexpr std::array kPackable{uint8, int8, uint4, uint2};
  Plan plan = random_strided_types(random);
  if (random.coin()) plan.input = random.of(kPackable);
  if (plan.implicit_zero_point < 0) plan.implicit_zero_point = 0;
  plan.scale = random.of(kScales);
  plan.parameters.tensor_scale = static_cast<TensorScale>(random.in(0, 2));
  plan.parameters.infinite_e8m0 = plan.scale == float8e8m0 && random.coin();
  plan.parameters.reciprocal_scale = random.in(0, 3) == 0;
  add_zero_points(random, plan);
  add_arithmetic(random, plan);
  return plan;
}

/// Blocks on any dimensions, and a group index for some.
inline void add_groups(Random& random, Plan& plan, Dimensions& dimensions) {
  for (Dimension& d : dimensions) {
    if (random.coin()) d.block = random.in(1, d.size + 2);
  }
  if (random.in(0, 2) != 0) return;
  plan.parameters.group_index = {
      .groups = random.in(1, 9), .scale = random.in(0, 7), .zero_point = random.in(0, 7)};
  for (Dimension& d : dimensions) {
    if (random.coin()) d.group_index = random.in(1, 3);
  }
}

/// Layouts of x and of zero points, for some plans whose codes have eight bits.
inline void add_packings(Random& random, Plan& plan, const Dimensions& dimensions) {
  using enum Element;
  Plan strided = plan;
  strided.granularity = Granularity::strided;
  strided.dimensions = dimensions;
  const Extents e = extents(strided);
  const auto packable = [](Element element) { return element == uint8 || element == int8; };
  Parameters& p = plan.parameters;
  if (packable(plan.input) && e.x > 0 && random.in(0, 3) != 0) {
    p.x_packing = random_packing(random, e.x);
  }
  if (plan.has_zero_point && packable(zero_point_element(plan)) && e.zero_point > 0 &&
      kind(plan.input) != Kind::floating && p.zero_point_overflow != ZeroPointOverflow::carry &&
      random.coin()) {
    p.zero_point_packing = random_packing(random, e.zero_point);
  }
  if (p.result_rounding && !holds_differences(plan, *p.result_rounding)) p.result_rounding = {};
}

inline Plan random_plan(Random& random, Dimensions dimensions) {
  Plan plan = random_parameters(random);
  add_groups(random, plan, dimensions);
  add_packings(random, plan, dimensions);
  plan.granularity = Granularity::strided;
  plan.dimensions = std::move(dimensions);
  return plan;
}

}  // namespace dequant::testing
