// Operators from types, shapes and strides, and DirectML's names.
#include "conformance/directml/node.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace dequant::conformance::directml {
namespace {

using testing::is_invalid;
using testing::succeeds;

const std::vector<int64_t> kShape{1, 1, 2, 3};

Node element_wise() {
  Node node;
  node.x.type = {Element::uint8, kShape};
  node.scale.type = {Element::float32, kShape};
  node.zero_point = NodeTensor{{Element::uint8, kShape}, {}, {}};
  return node;
}

TEST(DirectMLNode, CompilesPackedTensors) {
  const auto op = compile(element_wise(), DML_FEATURE_LEVEL_1_0);
  ASSERT_TRUE(succeeds(op));
  EXPECT_EQ(op->input_count, 3u);
  EXPECT_EQ(op->input_bytes, (std::array<uint64_t, 3>{8, 24, 8}));
  EXPECT_EQ(op->output_bytes, 24u);
  EXPECT_EQ(element_count(op->plan), 6);
}

TEST(DirectMLNode, TheOutputHasTheTypeOfTheScale) {
  Node node = element_wise();
  node.scale.type.element = Element::float16;
  const auto op = compile(node, DML_FEATURE_LEVEL_6_0);
  ASSERT_TRUE(succeeds(op));
  EXPECT_EQ(op->plan.output, Element::float16);
  EXPECT_EQ(op->output_bytes, 12u);
}

TEST(DirectMLNode, DequantizeCountsItsTensors) {
  const std::vector<int64_t> x{4}, scale{2};
  Node node;
  node.type = DML_OPERATOR_DEQUANTIZE;
  node.quantization = DML_QUANTIZATION_TYPE_SCALE;
  node.x.type = {Element::int4, x};
  node.scale.type = {Element::float32, scale};
  const auto alone = compile(node, DML_FEATURE_LEVEL_6_3);
  ASSERT_TRUE(succeeds(alone));
  EXPECT_EQ(alone->input_count, 2u);
  node.zero_point = NodeTensor{{Element::int4, scale}, {}, {}};
  EXPECT_TRUE(is_invalid(compile(node, DML_FEATURE_LEVEL_6_3), "QuantizationTensorCount"));
  node.quantization = DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT;
  const auto both = compile(node, DML_FEATURE_LEVEL_6_3);
  ASSERT_TRUE(succeeds(both));
  EXPECT_EQ(both->input_count, 3u);
}

TEST(DirectMLNode, StridesMayReachWhatIsStored) {
  const std::vector<int64_t> padded{0, 0, 5, 1};  // 8 elements
  Node node = element_wise();
  node.x.strides = padded;
  const auto least = compile(node, DML_FEATURE_LEVEL_6_2);
  ASSERT_TRUE(succeeds(least));
  EXPECT_EQ(least->input_bytes[0], 8u);
  node.x.stored = 21;
  const auto more = compile(node, DML_FEATURE_LEVEL_6_2);
  ASSERT_TRUE(succeeds(more));
  EXPECT_EQ(more->input_bytes[0], 24u);
  node.x.stored = 4;
  EXPECT_TRUE(is_invalid(compile(node, DML_FEATURE_LEVEL_6_2), "TotalTensorSizeInBytes: 4"));
}

TEST(DirectMLNode, WhatDirectMLCannotSayIsInvalid) {
  Node node = element_wise();
  node.scale.type.element = Element::bfloat16;
  EXPECT_TRUE(is_invalid(compile(node, DML_FEATURE_LEVEL_6_2), "scale: DirectML has no type"));
  for (const int64_t size : {int64_t{-1}, int64_t{1} << 32, INT64_MIN, INT64_MAX}) {
    const std::vector<int64_t> shape{1, 1, size, 3};
    node = element_wise();
    node.x.type.shape = shape;
    EXPECT_TRUE(is_invalid(compile(node, DML_FEATURE_LEVEL_6_2), "x: Sizes: ")) << size;
    node = element_wise();
    node.zero_point->strides = shape;
    EXPECT_TRUE(is_invalid(compile(node, DML_FEATURE_LEVEL_6_2), "zero_point: Strides: ")) << size;
  }
  const std::vector<int64_t> few{1, 1};
  node = element_wise();
  node.x.strides = few;
  EXPECT_TRUE(is_invalid(compile(node, DML_FEATURE_LEVEL_6_2), "x: 2 Strides for 4 Sizes"));
}

TEST(DirectMLNode, RanksAndSizesOfNothingAreInvalid) {
  const std::vector<int64_t> none{1, 1, 0, 3}, many(9, 1);
  Node node = element_wise();
  node.x.type.shape = none;
  EXPECT_TRUE(is_invalid(compile(node, DML_FEATURE_LEVEL_6_2), "dimension 2 of [1, 1, 0, 3] is 0"));
  node.x.type.shape = {};
  EXPECT_TRUE(is_invalid(compile(node, DML_FEATURE_LEVEL_6_2), "DimensionCount: 0"));
  node.x.type.shape = many;
  EXPECT_TRUE(is_invalid(compile(node, DML_FEATURE_LEVEL_6_2), "DimensionCount: 9"));
}

TEST(DirectMLNode, NamesHaveNoPrefix) {
  EXPECT_EQ(feature_level_from_name("6_2"), DML_FEATURE_LEVEL_6_2);
  EXPECT_EQ(operator_from_name("DEQUANTIZE"), DML_OPERATOR_DEQUANTIZE);
  EXPECT_EQ(quantization_from_name("SCALE"), DML_QUANTIZATION_TYPE_SCALE);
  for (const std::string_view name : {"", "1_1", "DML_FEATURE_LEVEL_6_2", "QUANTIZE", "scale"}) {
    EXPECT_FALSE(feature_level_from_name(name)) << name;
    EXPECT_FALSE(operator_from_name(name)) << name;
    EXPECT_FALSE(quantization_from_name(name)) << name;
  }
}

TEST(DirectMLNode, FeatureLevelsGoFromTheOldestToTheNewest) {
  const std::vector<std::string> names = feature_levels();
  ASSERT_EQ(names.size(), 15u);
  EXPECT_EQ(names.front(), "1_0");
  EXPECT_EQ(names.back(), "6_4");
  for (size_t i = 1; i < names.size(); ++i) {
    EXPECT_LT(*feature_level_from_name(names[i - 1]), *feature_level_from_name(names[i]));
  }
}

}  // namespace
}  // namespace dequant::conformance::directml
