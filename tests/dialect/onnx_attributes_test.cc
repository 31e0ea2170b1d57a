// Attributes of ai.onnx DequantizeLinear: which version has which, and output_dtype.
#include <gtest/gtest.h>

#include <string>

#include "dialect/node.h"

namespace dequant::onnx_attributes_test {
namespace {

using testing::is_invalid;
using testing::kVersions;
using testing::Node;
using testing::plan_of;
using testing::succeeds;
using enum Element;

TEST(OnnxAttributes, AxisExistsSince13) {
  EXPECT_TRUE(is_invalid(plan_of({.opset = 10, .axis = 1}), "axis: DequantizeLinear-10"));
  EXPECT_TRUE(is_invalid(plan_of({.opset = 12, .axis = 0}), "axis: DequantizeLinear-10"));
  for (const int64_t opset : {13, 18, 19, 21, 23, 24, 25, 28}) {
    EXPECT_TRUE(succeeds(plan_of({.opset = opset, .axis = 1})));
  }
}

TEST(OnnxAttributes, BlockSizeExistsSince21) {
  for (const int64_t opset : {10, 13, 18, 19, 20}) {
    EXPECT_TRUE(is_invalid(plan_of({.opset = opset, .block_size = 2}), "block_size"));
    EXPECT_TRUE(is_invalid(plan_of({.opset = opset, .block_size = 0}), "no such attribute"));
  }
  for (const int64_t opset : {21, 22, 23, 24, 25, 28}) {
    EXPECT_TRUE(succeeds(plan_of({.opset = opset, .block_size = 0})));
    EXPECT_TRUE(
        succeeds(plan_of({.opset = opset, .scale = {float32, {2, 2, 4}}, .block_size = 2})));
  }
}

TEST(OnnxAttributes, OutputDtypeExistsSince23) {
  for (const int64_t opset : {10, 13, 19, 21, 22}) {
    EXPECT_TRUE(is_invalid(plan_of({.opset = opset, .output_dtype = 1}), "output_dtype"));
    EXPECT_TRUE(is_invalid(plan_of({.opset = opset, .output_dtype = 0}), "no such attribute"));
  }
  for (const int64_t opset : {23, 24, 25, 28}) {
    EXPECT_TRUE(succeeds(plan_of({.opset = opset, .output_dtype = 1})));
  }
}

TEST(OnnxAttributes, ARefusalNamesTheFirstOpsetThatAllowsTheNode) {
  const auto allowed = [](int64_t opset, const Node& node) {
    return is_invalid(plan_of(node), "; opset " + std::to_string(opset) + " allows the node");
  };
  EXPECT_TRUE(allowed(13, {.opset = 10, .axis = 1}));
  EXPECT_TRUE(allowed(21, {.opset = 13, .block_size = 0}));
  EXPECT_TRUE(allowed(23, {.opset = 22, .output_dtype = 1}));
  EXPECT_TRUE(allowed(21, {.opset = 20, .x = {int16, {2, 3, 4}}}));
  EXPECT_TRUE(allowed(19, {.opset = 18, .scale = {float16, {}}}));
  const auto never = plan_of({.opset = 13, .scale = {float32, {7}}});
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().message.find("allows"), std::string::npos);
}

TEST(OnnxAttributes, OutputDtypeDecidesTheOutputWhateverTheScale) {
  for (const int64_t opset : {23, 24, 25}) {
    for (const Element scale : {float32, float16, bfloat16, float8e8m0}) {
      if (scale == float8e8m0 && opset < 24) continue;
      for (const Element output : {float32, float16, bfloat16}) {
        const auto plan =
            plan_of({.opset = opset, .scale = {scale, {}}, .output_dtype = onnx_code(output)});
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_EQ(plan->output, output);
        EXPECT_EQ(plan->scale, scale);
      }
    }
  }
}

TEST(OnnxAttributes, OutputDtypeZeroMeansThatOfTheScale) {
  for (const Element scale : {float32, float16, bfloat16}) {
    const auto plan = plan_of({.scale = {scale, {}}, .output_dtype = 0});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->output, scale);
  }
}

TEST(OnnxAttributes, OutputDtypeMustBeFloat32Float16OrBfloat16) {
  for (int64_t code = -3; code < 40; ++code) {
    if (code == 0 || code == 1 || code == 10 || code == 16) continue;
    EXPECT_TRUE(
        is_invalid(plan_of({.output_dtype = code}), "output_dtype: " + std::to_string(code)));
  }
  for (const int64_t code : {INT64_MIN, INT64_MAX, int64_t{0x7fffffff}, (int64_t{1} << 32) + 1}) {
    EXPECT_TRUE(is_invalid(plan_of({.output_dtype = code}), std::to_string(code)));
  }
}

TEST(OnnxAttributes, ExponentScaleNeedsAnOutputDtype) {
  for (const int64_t opset : {24, 25, 28}) {
    Node node{.opset = opset, .scale = {float8e8m0, {}}};
    EXPECT_TRUE(is_invalid(plan_of(node), "output_dtype: must be set"));
    node.output_dtype = 0;
    EXPECT_TRUE(is_invalid(plan_of(node), "output_dtype: must be set"));
    node.output_dtype = onnx_code(float8e8m0);
    EXPECT_TRUE(is_invalid(plan_of(node), "float8e8m0"));
  }
}

TEST(OnnxAttributes, AreSetByName) {
  onnx::DequantizeLinear node;
  EXPECT_TRUE(succeeds(onnx::set_attribute(node, "axis", -2)));
  EXPECT_TRUE(succeeds(onnx::set_attribute(node, "block_size", 32)));
  EXPECT_TRUE(succeeds(onnx::set_attribute(node, "output_dtype", 16)));
  EXPECT_EQ(node.axis, -2);
  EXPECT_EQ(node.block_size, 32);
  EXPECT_EQ(node.output_dtype, 16);
}

TEST(OnnxAttributes, UnknownNamesAreRejectedAndChangeNothing) {
  onnx::DequantizeLinear node;
  for (const char* unknown : {"saturate", "precision", "Axis", "axis ", "block-size", "", "mode"}) {
    EXPECT_TRUE(is_invalid(onnx::set_attribute(node, unknown, 1), "no such attribute")) << unknown;
  }
  EXPECT_EQ(node.axis, std::nullopt);
  EXPECT_EQ(node.block_size, std::nullopt);
  EXPECT_EQ(node.output_dtype, std::nullopt);
}

}  // namespace
}  // namespace dequant::onnx_attributes_test
