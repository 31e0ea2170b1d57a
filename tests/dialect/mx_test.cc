// MX weights of checkpoints: the stored bytes of codes of 4, 6 and 8 bits, and their E8M0 scales.
#include "dequant/mx.h"

#include <gtest/gtest.h>

#include "node.h"
#include "support/expect_error.h"

namespace dequant::mx_test {
namespace {

using namespace testing;
using enum Element;

struct Weight {
  Type weight = {uint8, {3, 32}};
  Type scale = {uint8, {3, 2}};
  Element element = float4e2m1;
  Element output = bfloat16;
};

Result<Plan> plan_of(const Weight& w) {
  return mx::dequantize(
      {{w.weight.element, w.weight.shape}, {w.scale.element, w.scale.shape}, w.element, w.output});
}

constexpr Rejects<Weight> rejects;

TEST(Mx, BytesHoldTwoCodesOf4BitsOrFourOf6) {
  const auto four = plan_of({});
  ASSERT_TRUE(succeeds(four));
  EXPECT_EQ(element_count(*four), 3 * 64);
  EXPECT_EQ(four->input, float4e2m1);
  EXPECT_EQ(four->scale, float8e8m0);
  EXPECT_EQ(scale_count(*four), 3 * 2);
  const auto six = plan_of({.weight = {uint8, {3, 48}}, .element = float6e2m3});
  ASSERT_TRUE(succeeds(six));
  EXPECT_EQ(*six, [&] {
    Plan plan = *four;
    plan.input = float6e2m3;
    return plan;
  }());
  // The same codes, typed.
  EXPECT_EQ(plan_of({.weight = {float4e2m1, {3, 64}}, .scale = {float8e8m0, {3, 2}}}).value(),
            *four);
}

TEST(Mx, RowsHoldWholeCodes) {
  rejects("16 bytes of 6 bits", {.weight = {uint8, {3, 16}}, .element = float6e3m2},
          "rows of 16 bytes hold no whole number of float6e3m2");
}

TEST(Mx, TheLastBlockOfARowMayBeShort) {
  EXPECT_TRUE(succeeds(plan_of({.weight = {uint8, {3, 20}}})));
  rejects("a scale too few", {.scale = {uint8, {3, 1}}}, "64 of weight in blocks of 32 need 2");
}

TEST(Mx, TypesAreThoseOfTheSpecification) {
  rejects("an integer", {.element = int8}, "element: int8");
  rejects("float scales", {.scale = {float32, {3, 2}}}, "scale: element type float32");
  rejects("codes in words", {.weight = {int32, {3, 8}}}, "weight: element type int32");
  rejects("an integer output", {.output = uint8}, "output");
  rejects("a scalar", {.weight = {uint8, {}}}, "rank 0");
  rejects("scales of another rank", {.scale = {uint8, {2}}}, "scale: shape [2]");
}

}  // namespace
}  // namespace dequant::mx_test
