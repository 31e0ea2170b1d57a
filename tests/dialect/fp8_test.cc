// FP8 weights of checkpoints: what is accepted, what is refused, and which elements share a scale.
#include "dequant/fp8.h"

#include <gtest/gtest.h>

#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packed.h"

namespace dequant::fp8_test {
namespace {

using namespace testing;
using enum Element;

struct Weight {
  Type weight = {float8e4m3fn, {4, 6}};
  Type scale = {float32, {2, 2}};
  Fixed block = {3, 4};
  Element output = float32;
};

Result<Plan> plan_of(const Weight& w) {
  return fp8::dequantize(
      {{w.weight.element, w.weight.shape}, {w.scale.element, w.scale.shape}, w.block, w.output});
}

constexpr Rejects<Weight> rejects;

/// The index of the scale of each element: every weight is 1, and scale i is i + 1.
std::vector<int> scales_of(const Weight& w) {
  const auto plan = plan_of(w);
  EXPECT_TRUE(succeeds(plan));
  if (!plan) return {};
  const Extents e = extents(*plan);
  const Bytes x(static_cast<size_t>(e.x), std::byte{0x38});  // 1 as float8e4m3fn
  std::vector<uint32_t> codes;
  for (int64_t i = 0; i < e.scale; ++i) codes.push_back(bits_of(static_cast<float>(i + 1)));
  const Bytes scale = pack(float32, codes);
  Bytes y(bytes_for(float32, e.y));
  EXPECT_TRUE(succeeds(run(*plan, {x, scale, {}, y})));
  std::vector<int> out;
  for (int64_t i = 0; i < e.y; ++i) {
    out.push_back(static_cast<int>(float_of(code_at(float32, y, i))) - 1);
  }
  return out;
}

TEST(Fp8Types, WeightsAreFloat8AndScalesFloats) {
  for (const Element weight : elements()) {
    for (const Element scale : elements()) {
      const bool allowed = (weight == float8e4m3fn || weight == float8e4m3fnuz ||
                            weight == float8e5m2 || weight == float8e5m2fnuz) &&
                           (scale == float32 || scale == float16 || scale == bfloat16 ||
                            scale == float8e8m0 || scale == uint8);
      const auto plan = plan_of({.weight = {weight, {4, 6}}, .scale = {scale, {2, 2}}});
      ASSERT_EQ(static_cast<bool>(plan), allowed) << name(weight) << " " << name(scale);
    }
  }
  rejects("no float type", {.output = int8}, "output: element type int8");
}

TEST(Fp8Scales, OneScaleIsForAllElements) {
  for (const Fixed& shape : {Fixed{}, Fixed{1}, Fixed{1, 1}}) {
    EXPECT_EQ(scales_of({.scale = {float32, shape}, .block = {}}), std::vector<int>(24, 0));
  }
}

TEST(Fp8Scales, RankOneIsAScaleForEachRow) {
  const std::vector<int> rows{0, 0, 1, 1, 2, 2};
  EXPECT_EQ(scales_of({.weight = {float8e4m3fn, {3, 2}}, .scale = {float32, {3}}, .block = {}}),
            rows);
  EXPECT_EQ(scales_of({.weight = {float8e4m3fn, {3, 2}}, .scale = {float32, {3, 1}}, .block = {}}),
            rows);
  rejects("of another length", {.scale = {float32, {6}}, .block = {}}, "has rank 1");
}

TEST(Fp8Scales, TheLastBlockOfADimensionMayBeShort) {
  EXPECT_EQ(
      scales_of({.weight = {float8e4m3fn, {3, 5}}, .scale = {float32, {2, 2}}, .block = {2, 3}}),
      (std::vector<int>{0, 0, 0, 1, 1,  //
                        0, 0, 0, 1, 1,  //
                        2, 2, 2, 3, 3}));
}

TEST(Fp8Scales, ABlockMayBeLongerThanItsDimension) {
  EXPECT_EQ(
      scales_of({.weight = {float8e4m3fn, {2, 3}}, .scale = {float32, {1, 2}}, .block = {128, 2}}),
      (std::vector<int>{0, 0, 1, 0, 0, 1}));
}

TEST(Fp8Scales, ExpertsHaveAGridEach) {
  EXPECT_EQ(
      scales_of(
          {.weight = {float8e4m3fn, {2, 2, 3}}, .scale = {float32, {2, 1, 2}}, .block = {1, 2, 2}}),
      (std::vector<int>{0, 0, 1, 0, 0, 1, 2, 2, 3, 2, 2, 3}));
}

// 576 rows in blocks of 128 have 5 scales: one loader takes 115 rows a scale, another fails.
TEST(Fp8Scales, RowsThatBlocksDoNotDivideAreNotSpreadEvenly) {
  const auto scales = scales_of(
      {.weight = {float8e4m3fn, {576, 1}}, .scale = {float32, {5, 1}}, .block = {128, 128}});
  ASSERT_EQ(scales.size(), 576U);
  for (size_t row = 0; row < 576; ++row) ASSERT_EQ(scales[row], row / 128) << row;
}

TEST(Fp8Shapes, ScalesHaveOneElementForEachBlock) {
  rejects("too few", {.scale = {float32, {1, 2}}},
          "dimension 0 is 1 where 4 of weight in blocks of 3 need 2");
  rejects("too many", {.scale = {float32, {2, 3}}}, "dimension 1 is 3");
  rejects("another rank", {.scale = {float32, {2, 2, 1}}}, "has rank 3");
  rejects("no block length", {.block = {}}, "no block length");
  rejects("a block length is missing", {.block = {3}}, "1 lengths for the 2 dimensions");
  rejects("no length", {.block = {0, 4}}, "length 0 is 0");
  rejects("a negative length", {.block = {3, -1}}, "length 1 is -1");
}

TEST(Fp8Shapes, SizesMustNotOverflow) {
  rejects("elements", {.weight = {float8e4m3fn, {int64_t{1} << 40, int64_t{1} << 40}}}, "weight");
  rejects("bytes of the output",
          {.weight = {float8e4m3fn, {int64_t{1} << 62}}, .scale = {float32, {1}}, .block = {}},
          "weight");
  rejects("a negative size", {.weight = {float8e4m3fn, {-1, 6}}}, "weight");
  EXPECT_TRUE(succeeds(plan_of({.weight = {float8e4m3fn, {0, 6}}, .scale = {float32, {0, 2}}})));
}

}  // namespace
}  // namespace dequant::fp8_test
