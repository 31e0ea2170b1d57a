// The rules of ranges against TensorFlow's formulas, written out here with a statement for each
// rounding and the limits of each type as literals.
#include "execute/ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packed.h"

namespace dequant::ranges_test {
namespace {

using testing::bits_of;
using testing::Bytes;
using testing::float_of;
using testing::Random;
using testing::succeeds;
using enum Element;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

constexpr Rule kKernelRules[] = {Rule::min_combined, Rule::min_first, Rule::scaled,
                                 Rule::scaled_narrow_range};
constexpr Rule kDocumentedRules[] = {Rule::documented_min_combined, Rule::documented_min_first,
                                     Rule::documented_scaled};

/// What the formulas need of a type.
struct Limits {
  Element x;
  float half;    ///< what MIN_COMBINED adds to a code
  float span;    ///< what it divides the width by
  double steps;  ///< what MIN_FIRST divides the width by
  float lowest;
  float lowest_narrow;  ///< 0: unsigned
  float highest;
};

// clang-format off
constexpr Limits kLimits[] = {
    {uint8,           0.F,        255.F,        255.0,            0.F,           0.F,        255.F},
    {int8,          128.F,        255.F,        255.0,         -128.F,        -127.F,        127.F},
    {uint16,          0.F,      65535.F,      65535.0,            0.F,           0.F,      65535.F},
    {int16,       32768.F,      65535.F,      65535.0,       -32768.F,      -32767.F,      32767.F},
    {int32,  2147483648.F, 4294967296.F, 4294967295.0, -2147483648.F, -2147483648.F, 2147483648.F},
};
// clang-format on

struct Ranges {
  float min;
  float max;
};

/// Every pair of edge values, and random ones.
const std::vector<Ranges>& all_ranges() {
  static const std::vector<Ranges> list = [] {
    std::vector<Ranges> made;
    for (const uint32_t min : testing::edge_scales()) {
      for (const uint32_t max : testing::edge_scales())
        made.push_back({float_of(min), float_of(max)});
    }
    Random random(1);
    for (int i = 0; i < 500; ++i) {
      made.push_back({float_of(random_scale(random)), float_of(random_scale(random))});
    }
    return made;
  }();
  return list;
}

struct RangeParams {
  float scale = 0;
  float offset = 0;
};

/// Scale and offset as the CPU kernel has them.
RangeParams kernel_params(Rule rule, const Limits& t, Ranges r) {
  if (rule == Rule::min_combined) {
    const float width = r.max - r.min;
    const float scale = width / t.span;
    return {scale, r.min};
  }
  if (rule == Rule::min_first) {
    const float width = r.max - r.min;
    const double quotient = static_cast<double>(width) / t.steps;
    const auto scale = static_cast<float>(quotient);
    float rounded = r.min;
    if (r.min != r.max) {
      const float steps = r.min / scale;
      const float whole = std::round(steps);
      rounded = whole * scale;
    }
    const float down = t.lowest * scale;
    return {scale, rounded - down};
  }
  const float by_max = r.max / t.highest;
  if (t.lowest == 0) return {by_max, 0};
  const float by_min = r.min / (rule == Rule::scaled ? t.lowest : t.lowest_narrow);
  return {by_min < by_max ? by_max : by_min, 0};
}

/// y as the CPU kernel has it.
float kernel_y(Rule rule, const Limits& t, Ranges r, int64_t code) {
  const RangeParams params = kernel_params(rule, t, r);
  const auto q = static_cast<float>(code);
  if (rule == Rule::min_combined) {
    const float shifted = q + t.half;
    const float product = shifted * params.scale;
    return product + params.offset;
  }
  const float product = q * params.scale;
  return rule == Rule::min_first ? params.offset + product : product;
}

/// y as the page of r1.4 has it.
float documented_y(Rule rule, const Limits& t, Ranges r, int64_t code) {
  const double min = r.min;
  const double max = r.max;
  auto in = static_cast<double>(code);
  if (rule == Rule::documented_min_combined) {
    const double range = t.steps;  // the largest value of T less the smallest
    if (t.x == int8) in = in + (range + 1) / 2.0;
    const double width = max - min;
    const double product = in * width;
    const double quotient = product / range;
    return static_cast<float>(min + quotient);
  }
  if (rule == Rule::documented_min_first) {
    const double number_of_steps = t.steps + 1;
    const double range_adjust = number_of_steps / (number_of_steps - 1);
    const double width = max - min;
    const double range = width * range_adjust;
    const double range_scale = range / number_of_steps;
    const double offset_input = in - static_cast<double>(t.lowest);
    const double product = offset_input * range_scale;
    return static_cast<float>(min + product);
  }
  const double m =
      std::isnan(min) || std::isnan(max) ? kNan : std::fmax(std::fabs(min), std::fabs(max));
  // [-127, 127], [0, 255], ...
  const double max_fixed = t.lowest == 0 ? t.steps : (t.steps - 1) / 2;
  const double min_fixed = t.lowest == 0 ? 0 : -max_fixed;
  const double s = (2 * m) / (max_fixed - min_fixed);
  return static_cast<float>(in * s);
}

float expected_y(Rule rule, const Limits& t, Ranges r, int64_t code) {
  return is_documented(rule) ? documented_y(rule, t, r, code) : kernel_y(rule, t, r, code);
}

/// For EXPECT_TRUE: the same bits, or both NaN.
bool same(float a, float b) { return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b)); }

/// All codes of 8 bits; of others the extremes, those around zero, and random ones.
std::vector<int64_t> codes_of(const Limits& t) {
  const auto lowest = static_cast<int64_t>(t.lowest);
  const auto highest = lowest + static_cast<int64_t>(t.steps);
  std::vector<int64_t> codes;
  if (bits(t.x) == 8) {
    for (int64_t c = lowest; c <= highest; ++c) codes.push_back(c);
    return codes;
  }
  codes = {lowest, lowest + 1, highest - 1, highest, 0, 1, 2, 127};
  Random random(2);
  while (codes.size() < 64) codes.push_back(random.in(lowest, highest));
  if (t.x == int32) codes.insert(codes.end(), {-1, 2147483583, 2147483584, (1 << 24) + 1});
  return codes;
}

Bytes bytes_of(float value) { return testing::pack(float32, {bits_of(value)}); }

/// y by run().
Bytes run_rule(Rule rule, Element x, Element y, Ranges r, const Bytes& codes, int64_t count) {
  const Plan plan{.input = x, .output = y, .rule = rule, .inner = count, .dimensions = {}};
  const Bytes min = bytes_of(r.min);
  const Bytes max = bytes_of(r.max);
  Bytes out(testing::bytes_for(y, count));
  EXPECT_TRUE(succeeds(run(
      plan,
      {.x = codes, .scale = {}, .zero_point = {}, .y = out, .min_range = min, .max_range = max})));
  return out;
}

Bytes packed(Element x, const std::vector<int64_t>& values) {
  std::vector<uint32_t> codes(values.size());
  std::ranges::transform(values, codes.begin(), [](int64_t v) { return static_cast<uint32_t>(v); });
  return testing::pack(x, codes);
}

TEST(KernelRanges, GiveScaleAndOffsetRoundedAsTheKernelRounds) {
  for (const Limits& t : kLimits) {
    for (const Rule rule : kKernelRules) {
      for (const Ranges r : all_ranges()) {
        RangeParams got;
        range_params(rule, t.x, 1, &r.min, &r.max, &got.scale, &got.offset);
        const RangeParams want = kernel_params(rule, t, r);
        ASSERT_TRUE(same(got.scale, want.scale) &&
                    (!adds_offset(rule) || same(got.offset, want.offset)))
            << name(t.x) << " rule " << static_cast<int>(rule) << " [" << r.min << ", " << r.max
            << "]: " << got.scale << ", " << got.offset << " not " << want.scale << ", "
            << want.offset;
      }
    }
  }
}

TEST(KernelRanges, ShiftCodesOfMinCombinedByHalfTheirRange) {
  for (const Limits& t : kLimits) {
    EXPECT_EQ(-static_cast<float>(shift_of(Rule::min_combined, t.x)), t.half);
    EXPECT_EQ(shift_of(Rule::min_first, t.x), 0);
    EXPECT_EQ(shift_of(Rule::scaled, t.x), 0);
  }
}

TEST(Ranges, GiveTheBitsOfTheFormulasForEveryRuleTypeAndEdge) {
  std::vector<Rule> rules(std::begin(kKernelRules), std::end(kKernelRules));
  rules.insert(rules.end(), std::begin(kDocumentedRules), std::end(kDocumentedRules));
  for (const Limits& t : kLimits) {
    const std::vector<int64_t> codes = codes_of(t);
    const Bytes x = packed(t.x, codes);
    const auto count = static_cast<int64_t>(codes.size());
    for (const Rule rule : rules) {
      for (const Ranges r : all_ranges()) {
        const Bytes y = run_rule(rule, t.x, float32, r, x, count);
        for (size_t i = 0; i < codes.size(); ++i) {
          float got = 0;
          std::memcpy(&got, y.data() + 4 * i, 4);
          const float want = expected_y(rule, t, r, codes[i]);
          ASSERT_TRUE(same(got, want))
              << name(t.x) << " rule " << static_cast<int>(rule) << " [" << r.min << ", " << r.max
              << "] code " << codes[i] << ": " << got << " not " << want;
          ASSERT_TRUE(!std::isnan(got) || bits_of(got) == 0x7FC00000);
        }
      }
    }
  }
}

/// A float32 as bfloat16, by Eigen's way of rounding to nearest even.
uint16_t bfloat16_of(float value) {
  if (std::isnan(value)) return 0x7FC0;
  const uint32_t u = bits_of(value);
  return static_cast<uint16_t>((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
}

TEST(Ranges, OfMinCombinedRoundToFloat32AndThenToBfloat16) {
  for (const Limits& t : kLimits) {
    const std::vector<int64_t> codes = codes_of(t);
    const Bytes x = packed(t.x, codes);
    for (const Ranges r : all_ranges()) {
      const Bytes y =
          run_rule(Rule::min_combined, t.x, bfloat16, r, x, static_cast<int64_t>(codes.size()));
      for (size_t i = 0; i < codes.size(); ++i) {
        ASSERT_EQ(testing::code_at(bfloat16, y, static_cast<int64_t>(i)),
                  bfloat16_of(kernel_y(Rule::min_combined, t, r, codes[i])))
            << name(t.x) << " [" << r.min << ", " << r.max << "] code " << codes[i];
      }
    }
  }
}

/// One element by run().
float y_of(Rule rule, Element x, Ranges r, int64_t code) {
  const Bytes y = run_rule(rule, x, float32, r, packed(x, {code}), 1);
  return float_of(testing::code_at(float32, y, 0));
}

TEST(Ranges, OfWidthZeroAreTheirOneValue) {
  for (const Rule rule : {Rule::min_combined, Rule::min_first}) {
    for (const float value : {1.5F, -3.25F, kTiny, 1e38F}) {
      for (const int64_t code : {-128, -1, 0, 127}) {
        EXPECT_EQ(bits_of(y_of(rule, int8, {value, value}, code)), bits_of(value));
      }
    }
  }
}

TEST(Ranges, OfWidthZeroAtInfinityAreNan) {
  EXPECT_TRUE(std::isnan(y_of(Rule::min_combined, uint8, {kInf, kInf}, 1)))
      << "infinity - infinity";
}

TEST(Ranges, ThatAreReversedHaveANegativeStep) {
  EXPECT_EQ(y_of(Rule::min_combined, uint8, {255, 0}, 0), 255);
  EXPECT_EQ(y_of(Rule::min_combined, uint8, {255, 0}, 255), 0);
  EXPECT_EQ(y_of(Rule::min_first, int8, {255, 0}, -128), 255);
  EXPECT_EQ(y_of(Rule::min_first, int8, {255, 0}, 127), 0);
  EXPECT_EQ(y_of(Rule::scaled, int8, {128, -127}, 3), -3) << "min > 0 > max";
}

TEST(Ranges, OfMinFirstSnapTheMinimumToTheNearestStepHalvesAwayFromZero) {
  EXPECT_EQ(y_of(Rule::min_first, uint8, {0.5F, 255.5F}, 0), 1);
  EXPECT_EQ(y_of(Rule::min_first, uint8, {-0.5F, 254.5F}, 0), -1);
  EXPECT_EQ(y_of(Rule::min_first, uint8, {0.25F, 255.25F}, 0), 0);
  EXPECT_EQ(y_of(Rule::min_combined, uint8, {0.25F, 255.25F}, 0), 0.25F);
}

TEST(Ranges, OfScaledTakeTheLargerScaleAndTheFirstWhereTheyTie) {
  EXPECT_EQ(y_of(Rule::scaled, int8, {-128, 1}, 1), 1);
  EXPECT_EQ(y_of(Rule::scaled, int8, {-1, 254}, 1), 2);
  EXPECT_EQ(y_of(Rule::scaled_narrow_range, int8, {-254, 1}, -128), -256)
      << "codes are not clamped";
  EXPECT_EQ(y_of(Rule::scaled, uint8, {-1e9F, 255}, 1), 1) << "unsigned: min plays no part";
  EXPECT_EQ(bits_of(y_of(Rule::scaled, int8, {0, 0}, 5)), bits_of(-0.0F)) << "0 / -128 comes first";
  EXPECT_EQ(bits_of(y_of(Rule::scaled, int8, {0, 0}, -5)), bits_of(0.0F));
  EXPECT_EQ(bits_of(y_of(Rule::scaled, int8, {-0.0F, 0}, 5)), bits_of(0.0F));
}

TEST(Ranges, OfScaledKeepANanOfTheMinimumAndIgnoreOneOfTheMaximum) {
  EXPECT_TRUE(std::isnan(y_of(Rule::scaled, int8, {kNan, 127}, 1)));
  EXPECT_EQ(y_of(Rule::scaled, int8, {-128, kNan}, 1), 1);
  EXPECT_EQ(y_of(Rule::scaled, uint8, {kNan, 255}, 1), 1);
  EXPECT_TRUE(std::isnan(y_of(Rule::scaled, uint8, {0, kNan}, 1)));
  EXPECT_TRUE(std::isnan(y_of(Rule::documented_scaled, int8, {-128, kNan}, 1)));
  EXPECT_TRUE(std::isnan(y_of(Rule::documented_scaled, int8, {kNan, 127}, 1)));
}

TEST(Ranges, OfScaledInt32SaturateWhereTheKernelsCastIsUndefined) {
  for (const int64_t code : {INT64_C(2147483584), INT64_C(2147483647)}) {
    EXPECT_EQ(y_of(Rule::scaled, int32, {-1, 1}, code), 1.0F);
  }
  EXPECT_LT(y_of(Rule::scaled, int32, {-1, 1}, 2147483583), 1.0F);
  EXPECT_EQ(y_of(Rule::scaled, int32, {-1, 1}, -2147483648), -1.0F);
}

TEST(DocumentedRanges, MoveOnlyQint8ByHalfItsRangeInMinCombined) {
  const Rule rule = Rule::documented_min_combined;
  EXPECT_EQ(y_of(rule, int8, {0, 255}, -128), 0);
  EXPECT_EQ(y_of(rule, int16, {0, 65535}, -32768), -32768);
  EXPECT_EQ(y_of(rule, int16, {0, 65535}, 100), 100);
}

TEST(DocumentedRanges, LeaveTheLowestCodeOutInScaledAndTakeTheLargestMagnitude) {
  const Rule rule = Rule::documented_scaled;
  EXPECT_EQ(y_of(rule, int8, {-127, 1}, 1), 1);
  EXPECT_EQ(y_of(rule, int8, {-127, 254}, -128), -256);
  EXPECT_EQ(y_of(rule, uint8, {-255, 1}, 1), 2) << "2 m / 255, also where no code is negative";
}

TEST(DocumentedRanges, DoNotSnapTheMinimumOfMinFirst) {
  EXPECT_EQ(y_of(Rule::documented_min_first, uint8, {0.25F, 255.25F}, 0), 0.25F);
}

}  // namespace
}  // namespace dequant::ranges_test
