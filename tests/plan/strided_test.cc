// What strides are taken for: the simplest plan that says the same, or a refusal.
#include "plan/strided.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/print.h"

namespace dequant::strided_test {
namespace {

using testing::is_invalid;
using enum Granularity;

Plan of(const std::vector<Dimension>& dimensions, bool zero_point = false) {
  Plan plan;
  plan.has_zero_point = zero_point;
  auto result = strided_plan(plan, dimensions);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Plan{};
}

Plan packed(Granularity granularity, int64_t outer, int64_t axis, int64_t inner,
            int64_t block = 1) {
  Plan plan;
  plan.granularity = granularity;
  plan.outer = outer;
  plan.axis = axis;
  plan.inner = inner;
  plan.block = block;
  return plan;
}

TEST(StridedPlan, OfPackedTensorsIsAPackedPlan) {
  EXPECT_EQ(of({}), packed(per_tensor, 1, 1, 1));
  EXPECT_EQ(of({{1, 7, 7, 7, 7}}), packed(per_tensor, 1, 1, 1)) << "one element needs no stride";
  EXPECT_EQ(of({{2, 12, 0, 0, 12}, {3, 4, 0, 0, 4}, {4, 1, 0, 0, 1}}),
            packed(per_tensor, 1, 1, 24));
  EXPECT_EQ(of({{2, 12, 12, 0, 12}, {3, 4, 4, 0, 4}, {4, 1, 1, 0, 1}}), packed(per_axis, 1, 24, 1))
      << "a scale for each element";
  EXPECT_EQ(of({{2, 12, 0, 0, 12}, {3, 4, 1, 0, 4}, {4, 1, 0, 0, 1}}), packed(per_axis, 2, 3, 4));
  EXPECT_EQ(of({{3, 4, 1, 0, 4}, {4, 1, 0, 0, 1}}), packed(per_axis, 1, 3, 4));
  EXPECT_EQ(of({{3, 4, 0, 0, 4}, {4, 1, 1, 0, 1}}), packed(per_axis, 3, 4, 1));
}

TEST(StridedPlan, OfPackedBlocksIsABlockedPlan) {
  // [2, 3 blocks of 4, 5] with scales [2, 3, 5].
  EXPECT_EQ(of({{2, 60, 15, 0, 60}, {3, 20, 5, 0, 20}, {4, 5, 0, 0, 5}, {5, 1, 1, 0, 1}}),
            packed(blocked, 6, 4, 5, 4));
  // Blocks of the last dimension are slices of an axis.
  EXPECT_EQ(of({{2, 12, 3, 0, 12}, {3, 4, 1, 0, 4}, {4, 1, 0, 0, 1}}), packed(per_axis, 1, 6, 4));
}

TEST(StridedPlan, KeepsDimensionsThatDoNotMergeAndSortsThemByOutput) {
  const Plan plan = of({{2, 1, 0, 0, 12}, {3, 8, 0, 0, 1}, {4, 2, 0, 0, 3}});
  EXPECT_EQ(plan.granularity, strided);
  EXPECT_EQ(plan.dimensions,
            (std::vector<Dimension>{{2, 1, 0, 0, 12}, {4, 2, 0, 0, 3}, {3, 8, 0, 0, 1}}));
  // Padded rows of x, packed rows of y.
  EXPECT_EQ(of({{2, 9, 0, 0, 8}, {2, 4, 0, 0, 4}, {4, 1, 0, 0, 1}}).dimensions,
            (std::vector<Dimension>{{2, 9, 0, 0, 8}, {8, 1, 0, 0, 1}}));
}

TEST(StridedPlan, KeepsZeroPointsThatLieOtherwiseThanScales) {
  EXPECT_EQ(of({{2, 3, 1, 1, 3}, {3, 1, 0, 0, 1}}, true).granularity, per_axis);
  EXPECT_EQ(of({{2, 3, 1, 0, 3}, {3, 1, 0, 0, 1}}, true).granularity, strided);
  EXPECT_EQ(of({{2, 3, 1, 9, 3}, {3, 1, 0, 9, 1}}, false).granularity, per_axis)
      << "strides of zero points that are not there say nothing";
}

TEST(StridedPlan, OfOneElementMayKeepADimension) {
  Plan indexed;
  indexed.parameters.group_index.groups = 3;
  auto plan = strided_plan(indexed, {{.size = 1, .x = 1, .y = 1, .group_index = 1}});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->granularity, strided);
  EXPECT_EQ(plan->dimensions, (std::vector<Dimension>{{.size = 1, .y = 1}}));
  EXPECT_EQ(extents(*plan), (Extents{.x = 1, .scale = 1, .y = 1, .group_index = 1}));
}

TEST(StridedPlan, KeepsRowsOfWordsThatRunDownColumns) {
  Plan types;
  types.parameters.x_packing = {.order = CodeOrder::stream, .bits = 4, .row = 64, .columns = 8};
  auto plan = strided_plan(types, {{8, 64, 0, 0, 64}, {2, 32, 0, 0, 32}, {32, 1, 0, 0, 1}});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->granularity, strided);
  EXPECT_EQ(plan->dimensions, (std::vector<Dimension>{{8, 64, 0, 0, 64}, {64, 1, 0, 0, 1}}));
}

TEST(StridedPlan, TakesAnyStrideOfAnInput) {
  const Plan plan = of({{4, -1, 0, 0, 1}});
  EXPECT_EQ(plan.granularity, strided);
  EXPECT_EQ(extents(plan), (Extents{.x = 4, .scale = 1, .y = 4}));
  EXPECT_EQ(extents(of({{3, 5, 2, 0, 4}, {2, 0, 0, 0, 1}})),
            (Extents{.x = 11, .scale = 5, .y = 10}));
}

TEST(StridedPlan, RefusesOutputsThatOverlap) {
  const auto refused = [](std::vector<Dimension> dimensions) {
    return is_invalid(strided_plan({}, std::move(dimensions)), "y: a stride of");
  };
  EXPECT_TRUE(refused({{2, 1, 0, 0, 0}}));
  EXPECT_TRUE(refused({{2, 1, 0, 0, -1}}));
  EXPECT_TRUE(refused({{2, 3, 0, 0, 2}, {3, 1, 0, 0, 1}}));
  EXPECT_TRUE(refused({{2, 3, 0, 0, 1}, {3, 1, 0, 0, 1}}));
  EXPECT_EQ(of({{2, 3, 0, 0, 3}, {3, 1, 0, 0, 1}}).granularity, per_tensor);
  EXPECT_EQ(of({{1, 0, 0, 0, 0}, {3, 1, 0, 0, 1}}).granularity, per_tensor)
      << "a single index has no neighbour to overlap";
}

TEST(StridedPlan, RefusesSizesAndStridesBeyondSixtyThreeBits) {
  const int64_t big = int64_t{1} << 40;
  EXPECT_TRUE(is_invalid(strided_plan({}, {{big, 1, 0, 0, big}, {big, 1, 0, 0, 1}}), "elements"));
  EXPECT_TRUE(is_invalid(strided_plan({}, {{-1, 1, 0, 0, 1}}), "negative"));
  for (const int64_t stride : {INT64_MAX, INT64_MIN, INT64_MIN + 1}) {
    EXPECT_TRUE(is_invalid(strided_plan({}, {{3, stride, 0, 0, 1}}), "x: a stride"));
    EXPECT_TRUE(is_invalid(strided_plan({}, {{3, 1, stride, 0, 1}}), "scale: a stride"));
    EXPECT_TRUE(is_invalid(strided_plan({.has_zero_point = true}, {{3, 1, 0, stride, 1}}),
                           "zero_point: a stride"));
    EXPECT_TRUE(is_invalid(strided_plan({}, {{3, 1, 0, 0, stride}}), "y: a stride"));
  }
  EXPECT_TRUE(
      is_invalid(strided_plan({}, {{2, INT64_MAX, 0, 0, 1}, {2, 1, 0, 0, 2}}), "x: a stride"));
  EXPECT_TRUE(is_invalid(strided_plan({}, std::vector<Dimension>(25, Dimension{})), "25"));
}

TEST(StridedPlan, OfNothingReachesNothing) {
  const Plan plan = of({{0, INT64_MAX, 1, 1, 0}, {5, 1, 1, 1, 0}});
  EXPECT_EQ(element_count(plan), 0);
  EXPECT_EQ(extents(plan), Extents{});
}

}  // namespace
}  // namespace dequant::strided_test
