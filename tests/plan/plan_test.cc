// What a plan says of itself: counts, the line for people, equality.
#include "dequant/plan.h"

#include <gtest/gtest.h>

#include "support/print.h"

namespace dequant::plan_test {
namespace {

using enum Element;

TEST(Plan, ByDefaultIsOneElement) {
  EXPECT_EQ(element_count(Plan{}), 1);
  EXPECT_EQ(scale_count(Plan{}), 1);
}

TEST(Plan, CountsElementsAndScales) {
  Plan plan{.outer = 3, .axis = 10, .inner = 4};
  EXPECT_EQ(element_count(plan), 120);
  EXPECT_EQ(scale_count(plan), 1);
  plan.granularity = Granularity::per_axis;
  EXPECT_EQ(scale_count(plan), 10);
  plan.granularity = Granularity::blocked;
  plan.block = 1;
  EXPECT_EQ(scale_count(plan), 120);
  plan.block = 4;
  EXPECT_EQ(scale_count(plan), 3 * 3 * 4) << "the last block is short";
  plan.block = 10;
  EXPECT_EQ(scale_count(plan), 3 * 1 * 4);
}

TEST(Plan, OfAnEmptyTensorHasNoElements) {
  for (const Granularity g :
       {Granularity::per_tensor, Granularity::per_axis, Granularity::blocked}) {
    const Plan plan{.granularity = g, .outer = 3, .axis = 0, .inner = 4, .block = 2};
    EXPECT_EQ(element_count(plan), 0);
    EXPECT_EQ(scale_count(plan), g == Granularity::per_tensor ? 1 : 0);
  }
}

TEST(Plan, RoundsZeroPointsUpToWordsWithoutOverflow) {
  Plan plan{.input = Element::uint2, .has_zero_point = true};
  plan.granularity = Granularity::strided;
  plan.parameters.zero_point_overflow = ZeroPointOverflow::carry;
  plan.dimensions = {{2, 1, 0, 16, 1}};
  EXPECT_EQ(extents(plan).zero_point, 32);
  plan.dimensions = {{2, 1, 0, INT64_MAX - 1, 1}};
  EXPECT_EQ(extents(plan).zero_point, INT64_MAX);
}

TEST(Plan, PrintsAsOneLine) {
  Plan plan{.input = int4,
            .scale = float16,
            .output = bfloat16,
            .granularity = Granularity::blocked,
            .outer = 2,
            .axis = 64,
            .inner = 8,
            .block = 32};
  EXPECT_EQ(to_string(plan), "int4[2, 64, 8] blocked by 32 on the axis, float16 scale -> bfloat16");
  plan.has_zero_point = true;
  plan.granularity = Granularity::per_axis;
  EXPECT_EQ(to_string(plan), "int4[2, 64, 8] per axis, float16 scale, zero point -> bfloat16");
  EXPECT_EQ(to_string(Plan{}), "uint8[1, 1, 1] per tensor, float32 scale -> float32");
}

TEST(Plan, ComparesEveryField) {
  const Plan plan;
  EXPECT_EQ(plan, Plan{});
  EXPECT_NE(plan, (Plan{.input = int8}));
  EXPECT_NE(plan, (Plan{.scale = float16}));
  EXPECT_NE(plan, (Plan{.output = float16}));
  EXPECT_NE(plan, (Plan{.has_zero_point = true}));
  EXPECT_NE(plan, (Plan{.granularity = Granularity::blocked}));
  EXPECT_NE(plan, (Plan{.outer = 2}));
  EXPECT_NE(plan, (Plan{.axis = 2}));
  EXPECT_NE(plan, (Plan{.inner = 2}));
  EXPECT_NE(plan, (Plan{.block = 2}));
}

}  // namespace
}  // namespace dequant::plan_test
