// com.microsoft DequantizeLinear-1.
#include "dequant/microsoft.h"

#include <gtest/gtest.h>

#include <set>

#include "support/expect_error.h"
#include "support/spec_index.h"

namespace dequant::microsoft_test {
namespace {

using microsoft::dequantize_linear;
using testing::Dims;
using testing::is_invalid;
using testing::succeeds;
using enum Element;

constexpr int64_t kX[] = {2, 3, 4};

microsoft::DequantizeLinear node(const Dims& scale, std::optional<int64_t> axis = {}) {
  microsoft::DequantizeLinear n;
  n.x = {uint8, kX};
  n.x_scale = {float32, scale};
  n.axis = axis;
  return n;
}

TEST(MicrosoftDequantizeLinear1, AllowsTheTypesOfItsSchema) {
  const std::set<Element> x_types{int8, uint8, int16, uint16, int32, int4, uint4};
  const std::set<Element> scale_types{float32, float16};
  for (const Element x : elements()) {
    for (const Element scale : elements()) {
      SCOPED_TRACE(::testing::Message() << name(x) << " by " << name(scale));
      auto n = node({});
      n.x.element = x;
      n.x_scale.element = scale;
      const auto plan = dequantize_linear(n);
      ASSERT_EQ(static_cast<bool>(plan), x_types.contains(x) && scale_types.contains(scale));
      if (plan) {
        EXPECT_EQ(plan->output, scale);
        EXPECT_EQ(plan->input, x);
      } else {
        EXPECT_TRUE(is_invalid(plan, "com.microsoft DequantizeLinear-1"));
      }
    }
  }
}

TEST(MicrosoftDequantizeLinear1, ShapeOfTheScaleDecidesAndAnAbsentAxisIsOne) {
  const Plan tensor{.input = uint8, .inner = 24};
  const Plan axis1{
      .input = uint8, .granularity = Granularity::per_axis, .outer = 2, .axis = 3, .inner = 4};
  const Plan axis2{
      .input = uint8, .granularity = Granularity::per_axis, .outer = 6, .axis = 4, .inner = 1};
  const Dims one{1};
  const Dims three{3};
  const Dims four{4};
  EXPECT_EQ(dequantize_linear(node({})).value(), tensor);
  EXPECT_EQ(dequantize_linear(node({}, 1)).value(), tensor)
      << "real files carry axis with a scalar";
  EXPECT_EQ(dequantize_linear(node(one, 7)).value(), tensor);
  EXPECT_EQ(dequantize_linear(node(three)).value(), axis1);
  EXPECT_EQ(dequantize_linear(node(three, 1)).value(), axis1);
  EXPECT_EQ(dequantize_linear(node(three, -2)).value(), axis1);
  EXPECT_EQ(dequantize_linear(node(four, 2)).value(), axis2);
}

TEST(MicrosoftDequantizeLinear1, RejectsScalesAndAxesThatDoNotFit) {
  const Dims none{0};
  const Dims two{2};
  const Dims three{3};
  const Dims blocks{2, 3, 2};
  EXPECT_TRUE(is_invalid(dequantize_linear(node(two)), "x_scale"));
  EXPECT_TRUE(is_invalid(dequantize_linear(node(none)), "x_scale"));
  EXPECT_TRUE(is_invalid(dequantize_linear(node(blocks, 2)), "must be a scalar or 1-D"));
  for (const int64_t axis : {int64_t{3}, int64_t{-4}, INT64_MIN, INT64_MAX}) {
    EXPECT_TRUE(is_invalid(dequantize_linear(node(three, axis)), "axis: "));
  }
}

TEST(MicrosoftDequantizeLinear1, ZeroPointHasTheTypeOfXAndTheShapeOfTheScale) {
  const Dims one{1};
  const Dims three{3};
  auto n = node(three);
  n.x_zero_point = {uint8, three};
  EXPECT_TRUE(dequantize_linear(n).value().has_zero_point);
  n.x_zero_point = {int8, three};
  EXPECT_TRUE(is_invalid(dequantize_linear(n), "x_zero_point: element type int8"));
  n.x_zero_point = {uint8, one};
  EXPECT_TRUE(is_invalid(dequantize_linear(n), "x_zero_point: shape"));
  auto scalar = node({});
  scalar.x_zero_point = {uint8, one};
  EXPECT_TRUE(succeeds(dequantize_linear(scalar)));
}

TEST(MicrosoftDequantizeLinear1, AxisIsItsOnlyAttribute) {
  microsoft::DequantizeLinear n;
  EXPECT_TRUE(succeeds(microsoft::set_attribute(n, "axis", -1)));
  EXPECT_EQ(n.axis, -1);
  for (const char* unknown : {"block_size", "output_dtype", "Axis", ""}) {
    EXPECT_TRUE(is_invalid(microsoft::set_attribute(n, unknown, 1), "no such attribute"));
  }
}

TEST(MicrosoftDequantizeLinear1, OtherVersionsAreUnsupported) {
  for (const int64_t version : {int64_t{0}, int64_t{2}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    auto n = node({});
    n.version = version;
    EXPECT_TRUE(testing::fails(dequantize_linear(n), ErrorCode::unsupported, "version"));
  }
}

}  // namespace
}  // namespace dequant::microsoft_test
