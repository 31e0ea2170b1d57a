// Hostile input: how many scales, and on which axis.
#include <climits>

#include "c_api/hostile.h"

namespace dequant::testing::c::hostile_axis_test {
namespace {

/// A node of each dialect that has an axis: [2, 3, 4] with scales (or ranges) of that shape.
struct AxisCase {
  Dims x = {2, 3, 4};
  Dims scales = {3};
  std::optional<int64_t> axis = {};

  Planned onnx() const { return plan(OnnxNode{.x_dims = x, .scale_dims = scales, .axis = axis}); }
  Planned microsoft() const {
    auto node = sized<dequant_microsoft>();
    node.version = 1;
    node.x = tensor(DEQUANT_INT8, x);
    node.x_scale = tensor(DEQUANT_FLOAT32, scales);
    node.axis = axis ? &*axis : nullptr;
    return plan(node);
  }
  Planned raw() const {
    return plan(
        TensorFlowNode{.input_dims = x, .min_dims = scales, .max_dims = scales, .raw_axis = axis});
  }
  Planned python() const {
    return plan(TensorFlowNode{
        .input_dims = x, .min_dims = scales, .max_dims = scales, .python_axis = axis});
  }
  Planned webnn() const {
    auto node = sized<dequant_webnn>();
    node.input = tensor(DEQUANT_INT8, x);
    node.scale = tensor(DEQUANT_FLOAT32, scales);
    node.zero_point = tensor(DEQUANT_INT8, scales);
    return plan(node);
  }
};

/// Refused in every dialect with one axis, by the name that each dialect has for its scales.
void expect_all_refuse(const AxisCase& c, std::string_view scale, std::string_view range) {
  SCOPED_TRACE(::testing::PrintToString(c.scales) + " on " + std::to_string(c.axis.value_or(99)));
  EXPECT_TRUE(is_invalid(c.onnx(), scale));
  EXPECT_TRUE(is_invalid(c.microsoft(), scale));
  EXPECT_TRUE(is_invalid(c.raw(), range));
  EXPECT_TRUE(is_invalid(c.python(), range));
}

TEST(Hostile, NoScalesAreRefused) {
  expect_all_refuse({.scales = {0}, .axis = 1}, "x_scale: 0 scales for 3", "min_range: 0 elements");
  EXPECT_TRUE(is_invalid(AxisCase{.scales = {0}}.webnn(), "scale"));
  EXPECT_TRUE(is_invalid(AxisCase{.scales = {1, 0, 1}}.webnn(), "scale"));
}

TEST(Hostile, OneScaleTooFewOrTooManyIsRefused) {
  for (const int64_t axis : {0, 1, 2}) {
    for (const int64_t off : {-1, 1}) {
      AxisCase c{.axis = axis};
      c.scales = {c.x[static_cast<size_t>(axis)] + off};
      if (c.scales[0] == 1) continue;  // one scale is that of the whole tensor
      expect_all_refuse(c, "x_scale: ", "min_range: ");
      c.scales = {c.scales[0] - off};
      EXPECT_TRUE(succeeds(c.onnx()));
      EXPECT_TRUE(succeeds(c.microsoft()));
      EXPECT_TRUE(succeeds(c.raw()));
      EXPECT_TRUE(succeeds(c.python()));
    }
  }
  for (const Dims& scales : {Dims{2, 2, 4}, Dims{2, 3, 5}, Dims{3, 3, 4}}) {
    EXPECT_TRUE(is_invalid(AxisCase{.scales = scales}.webnn(), "scale"));
  }
}

TEST(Hostile, AScaleForEachElementIsRefused) {
  expect_all_refuse({.scales = {24}, .axis = 1}, "x_scale: 24 scales for 3", "min_range: 24");
  expect_all_refuse({.scales = {2, 3, 4}, .axis = 1}, "x_scale: ", "min_range: 24");
}

TEST(Hostile, OtherCountsOfZeroPointsThanOfScalesAreRefused) {
  for (const Dims& zero : {Dims{}, Dims{1}, Dims{2}, Dims{4}, Dims{3, 1}, Dims{0}}) {
    const OnnxNode node{
        .x_dims = {2, 3, 4}, .scale_dims = {3}, .has_zero = true, .zero_dims = zero};
    EXPECT_TRUE(is_invalid(plan(node), "x_zero_point: shape")) << ::testing::PrintToString(zero);
  }
  EXPECT_TRUE(
      is_invalid(plan(OnnxNode{.has_zero = true, .zero_dims = {2}}), "x_zero_point: shape"));
}

TEST(Hostile, OneScaleInADimensionIsThatOfAScalar) {
  const OnnxNode node{.x_dims = {}, .scale_dims = {1}, .has_zero = true};
  EXPECT_EQ((dequantize<float, int8_t, float>(node, {-7}, {0.5F}, {1})), std::vector{-4.0F});
}

TEST(Hostile, AnAxisBesideOneScaleIsIgnoredOnlyWhereTheDialectSaysSo) {
  for (const int64_t axis : {int64_t{3}, int64_t{-4}, int64_t{100}, INT64_MIN, INT64_MAX}) {
    for (const Dims& one : {Dims{}, Dims{1}}) {
      const AxisCase c{.scales = one, .axis = axis};
      EXPECT_TRUE(succeeds(c.onnx()));
      EXPECT_TRUE(succeeds(c.microsoft()));
      EXPECT_TRUE(is_invalid(c.raw(), "axis: "));
      EXPECT_TRUE(is_invalid(c.python(), "axis: "));
    }
  }
}

TEST(Hostile, AxisOutOfRangeIsRefused) {
  for (const int64_t axis : {3, 4, -4, -10, -100}) {
    expect_all_refuse({.axis = axis}, "axis: " + std::to_string(axis),
                      "axis: " + std::to_string(axis));
  }
  EXPECT_TRUE(is_invalid(AxisCase{.axis = -2}.raw(), "axis: -2")) << "the raw op counts one way";
}

TEST(Hostile, AxisAtTheEndsOfItsTypeIsRefused) {
  for (const int64_t axis : {int64_t{INT32_MAX}, int64_t{INT32_MIN}, INT64_MAX, INT64_MIN}) {
    const std::string said = "axis: " + std::to_string(axis);
    expect_all_refuse({.axis = axis}, said, said);
  }
}

TEST(Hostile, ANegativeAxisCountsFromTheBack) {
  for (int64_t axis = 0; axis < 3; ++axis) {
    AxisCase front{.axis = axis};
    front.scales = {front.x[static_cast<size_t>(axis)]};
    AxisCase back = front;
    back.axis = axis - 3;
    const auto same = [](const Planned& a, const Planned& b) {
      EXPECT_TRUE(succeeds(a));
      EXPECT_TRUE(succeeds(b));
      EXPECT_STREQ(dequant_plan_text(a.plan.get()), dequant_plan_text(b.plan.get()));
    };
    same(front.onnx(), back.onnx());
    same(front.microsoft(), back.microsoft());
    same(front.python(), back.python());
    same(front.python(), front.raw());
  }
}

TEST(Hostile, AScalarHasNoAxis) {
  for (const int64_t axis : {0, -1, 1}) {
    const AxisCase tensor{.x = {}, .scales = {}, .axis = axis};
    EXPECT_TRUE(succeeds(tensor.onnx()));
    EXPECT_TRUE(succeeds(tensor.microsoft()));
    EXPECT_TRUE(is_invalid(tensor.python(), "axis: "));
    const AxisCase slices{.x = {}, .scales = {2}, .axis = axis};
    EXPECT_TRUE(is_invalid(slices.onnx(), "axis: "));
    EXPECT_TRUE(is_invalid(slices.microsoft(), "axis: "));
    EXPECT_TRUE(is_invalid(slices.python(), "axis: "));
    if (axis == -1) continue;  // which is per tensor
    EXPECT_TRUE(is_invalid(tensor.raw(), "axis: "));
    EXPECT_TRUE(is_invalid(slices.raw(), "axis: "));
  }
}

}  // namespace
}  // namespace dequant::testing::c::hostile_axis_test
