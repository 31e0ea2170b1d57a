// Which element types each version of DequantizeLinear allows for x and for x_scale: the whole
// matrix of elements and opsets, against the schemas' lists.
#include <gtest/gtest.h>

#include <set>

#include "dialect/node.h"

namespace dequant::onnx_types_test {
namespace {

using testing::is_invalid;
using testing::kVersions;
using testing::Node;
using testing::plan_of;
using enum Element;

using Elements = std::set<Element>;

Elements x_types(int64_t version) {
  Elements types{int8, uint8, int32};
  if (version >= 19)
    types.merge(Elements{float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz});
  if (version >= 21) types.merge(Elements{int16, uint16, int4, uint4});
  if (version >= 23) types.merge(Elements{float4e2m1});
  if (version >= 25) types.merge(Elements{int2, uint2});
  if (version >= 28) types.merge(Elements{float6e2m3, float6e3m2});
  return types;
}

Elements scale_types(int64_t version) {
  Elements types{float32};
  if (version >= 19) types.merge(Elements{float16, bfloat16});
  if (version >= 24) types.merge(Elements{float8e8m0});
  return types;
}

/// The newest version not above the opset.
int64_t version_of(int64_t opset) {
  int64_t version = 10;
  for (const int64_t v : kVersions) {
    if (v <= opset) version = v;
  }
  return version;
}

TEST(OnnxDequantizeLinear, AllowsTheXTypesOfTheVersionThatHoldsInTheOpset) {
  for (int64_t opset = 10; opset <= onnx::kNewestOpset; ++opset) {
    const Elements allowed = x_types(version_of(opset));
    for (const Element e : elements()) {
      SCOPED_TRACE(::testing::Message() << "opset " << opset << ", x " << name(e));
      const auto plan = plan_of({.opset = opset, .x = {e, {5}}});
      if (allowed.contains(e)) {
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_EQ(plan->input, e);
      } else {
        EXPECT_TRUE(is_invalid(plan, "x: element type " + std::string(name(e))));
      }
    }
  }
}

TEST(OnnxDequantizeLinear, AllowsTheScaleTypesOfTheVersionThatHoldsInTheOpset) {
  for (int64_t opset = 10; opset <= onnx::kNewestOpset; ++opset) {
    const Elements allowed = scale_types(version_of(opset));
    for (const Element e : elements()) {
      SCOPED_TRACE(::testing::Message() << "opset " << opset << ", x_scale " << name(e));
      Node node{.opset = opset, .scale = {e, {}}};
      if (opset >= 23) node.output_dtype = onnx_code(bfloat16);
      const auto plan = plan_of(node);
      if (allowed.contains(e)) {
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_EQ(plan->scale, e);
        EXPECT_EQ(plan->output, opset >= 23 ? bfloat16 : e);
      } else {
        EXPECT_TRUE(is_invalid(plan, "x_scale: element type " + std::string(name(e))));
      }
    }
  }
}

TEST(OnnxDequantizeLinear, NamesTheVersionThatForbidsAType) {
  EXPECT_TRUE(is_invalid(plan_of({.opset = 12, .x = {int16, {5}}}), "DequantizeLinear-10"));
  EXPECT_TRUE(is_invalid(plan_of({.opset = 18, .x = {int16, {5}}}), "DequantizeLinear-13"));
  EXPECT_TRUE(is_invalid(plan_of({.opset = 20, .x = {int16, {5}}}), "DequantizeLinear-19"));
  EXPECT_TRUE(is_invalid(plan_of({.opset = 22, .x = {int2, {5}}}), "DequantizeLinear-21"));
  EXPECT_TRUE(is_invalid(plan_of({.opset = 28, .x = {uint32, {5}}}), "DequantizeLinear-28"));
}

TEST(OnnxDequantizeLinear, RequiresTheZeroPointToHaveTheTypeOfX) {
  for (const int64_t version : kVersions) {
    for (const Element x : x_types(version)) {
      for (const Element zero : elements()) {
        SCOPED_TRACE(::testing::Message() << version << " " << name(x) << " " << name(zero));
        const auto plan =
            plan_of({.opset = version, .x = {x, {5}}, .zero = testing::Type{zero, {}}});
        if (zero == x) {
          ASSERT_TRUE(plan) << plan.error().message;
          EXPECT_TRUE(plan->has_zero_point);
        } else {
          EXPECT_TRUE(is_invalid(plan, "x_zero_point: element type"));
        }
      }
    }
  }
}

TEST(OnnxDequantizeLinear, OutputHasTheTypeOfTheScale) {
  for (const int64_t opset : {19, 20, 21, 22, 23, 24, 25, 28}) {
    for (const Element scale : {float32, float16, bfloat16}) {
      const auto plan = plan_of({.opset = opset, .scale = {scale, {}}});
      ASSERT_TRUE(plan) << plan.error().message;
      EXPECT_EQ(plan->output, scale);
    }
  }
}

TEST(OnnxDequantizeLinear, OpsetsOutsideTheKnownOnesAreUnsupported) {
  for (const int64_t opset : {int64_t{9}, int64_t{1}, int64_t{0}, int64_t{-1}, INT64_MIN}) {
    EXPECT_TRUE(
        testing::fails(plan_of({.opset = opset}), ErrorCode::unsupported, "since opset 10"));
  }
  for (const int64_t opset : {int64_t{29}, int64_t{999}, INT64_MAX}) {
    EXPECT_TRUE(testing::fails(plan_of({.opset = opset}), ErrorCode::unsupported, "newer than 28"));
  }
}

TEST(OnnxDequantizeLinear, OpsetsBetweenVersionsFollowTheOlderOne) {
  for (int64_t opset = 10; opset <= onnx::kNewestOpset; ++opset) {
    const auto plan = plan_of({.opset = opset});
    const auto version = plan_of({.opset = version_of(opset)});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(*plan, *version);
  }
}

TEST(OnnxDequantizeLinear, RefusesNumbersThatAreNoElement) {
  for (const int number : {static_cast<int>(elements().size()), 31, 32, 64, 255}) {
    const auto none = static_cast<Element>(number);
    EXPECT_TRUE(is_invalid(plan_of({.x = {none, {5}}}), "x: element type unknown"));
    EXPECT_TRUE(is_invalid(plan_of({.scale = {none, {}}}), "x_scale: element type unknown"));
    EXPECT_TRUE(is_invalid(packed_bytes(none, 1), "no element type"));
    EXPECT_EQ(name(none), "unknown");
    EXPECT_EQ(bits(none), 0);
  }
}

}  // namespace
}  // namespace dequant::onnx_types_test
