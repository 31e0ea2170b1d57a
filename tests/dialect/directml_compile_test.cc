// How tensors must fit together, and which plans come out.
#include "directml_desc.h"

namespace dequant::directml_compile_test {
namespace {

using namespace testing;

constexpr auto kUint8 = DML_TENSOR_DATA_TYPE_UINT8;
constexpr auto kInt8 = DML_TENSOR_DATA_TYPE_INT8;
constexpr auto kFloat16 = DML_TENSOR_DATA_TYPE_FLOAT16;

TEST(DirectMLElementWise, AllSizesAreEqualAndTheErrorTellsHowToBroadcast) {
  DmlNode node = element_wise({1, 1, 2, 2});
  node.scale.sizes = {1, 1, 1, 1};
  rejects_dml("scale", node,
              {"ScaleTensor: Sizes [1, 1, 1, 1] differ from those of InputTensor, [1, 1, 2, 2]",
               "broadcast a scalar with Strides of zero"});
  node = element_wise({1, 1, 2, 2});
  node.zero_point->sizes = {1, 1, 2, 1};
  rejects_dml("zero point", node, {"ZeroPointTensor: Sizes [1, 1, 2, 1]", "Strides of zero"});
  node = element_wise({1, 1, 2, 2});
  node.output.sizes = {1, 1, 4, 1};
  rejects_dml("output", node, {"OutputTensor: Sizes [1, 1, 4, 1]", "[1, 1, 2, 2]"});
  node = element_wise({2, 2});
  node.scale.sizes = {2};
  rejects_dml("rank", node,
              {"ScaleTensor: DimensionCount 1 (Sizes [2]) differs from that of InputTensor, 2",
               "fill leading dimensions with 1"});
}

TEST(DirectMLElementWise, TypesGoInPairs) {
  DmlNode node = element_wise({2, 2});
  node.zero_point->type = kInt8;
  rejects_dml("zero point", node,
              {"ZeroPointTensor: DataType INT8 differs from that of InputTensor, UINT8"});
  node = element_wise({2, 2});
  node.output.type = kFloat16;
  rejects_dml("output", node,
              {"OutputTensor: DataType FLOAT16 differs from that of ScaleTensor, FLOAT32"});
}

TEST(DirectMLElementWise, ZeroStridesAreABroadcastScalar) {
  DmlNode node = element_wise({1, 2, 3, 4});
  node.scale.strides = node.zero_point->strides = Uints{0, 0, 0, 0};
  const auto op = compile(node);
  ASSERT_TRUE(succeeds(op));
  EXPECT_EQ(op->plan, (Plan{.input = Element::uint8, .has_zero_point = true, .inner = 24}));
  EXPECT_EQ(op->input_count, 3U);
  EXPECT_EQ(op->input_bytes, (std::array<uint64_t, 3>{24, 4, 4}));
  EXPECT_EQ(op->output_bytes, 96U);
}

TEST(DirectMLElementWise, OneStrideIsOneScalePerSliceOfTheAxis) {
  DmlNode node = element_wise({2, 3, 4, 5}, kInt8, kFloat16);
  node.scale.strides = node.zero_point->strides = Uints{0, 1, 0, 0};
  const auto op = compile(node);
  ASSERT_TRUE(succeeds(op));
  EXPECT_EQ(op->plan, (Plan{.input = Element::int8,
                            .scale = Element::float16,
                            .output = Element::float16,
                            .has_zero_point = true,
                            .granularity = Granularity::per_axis,
                            .outer = 2,
                            .axis = 3,
                            .inner = 20}));
}

TEST(DirectMLElementWise, WithoutAZeroPointNothingIsSubtracted) {
  for (const auto type : {kUint8, kInt8, DML_TENSOR_DATA_TYPE_UINT32}) {
    DmlNode node = element_wise({2, 3}, type);
    node.zero_point.reset();
    const auto op = compile(node);
    ASSERT_TRUE(succeeds(op));
    EXPECT_FALSE(op->plan.has_zero_point);
    EXPECT_EQ(op->plan.implicit_zero_point, 0);
    EXPECT_EQ(op->input_count, 2U);
    EXPECT_EQ(op->input_bytes[2], 0U);
  }
}

TEST(DirectMLElementWise, ElementsOfTheOutputMayNotOverlap) {
  DmlNode node = element_wise({2, 3});
  for (const Uints& strides : {Uints{0, 1}, Uints{3, 0}, Uints{1, 1}, Uints{2, 1}, Uints{1, 1}}) {
    node.output.strides = strides;
    rejects_dml("overlap", node,
                {"OutputTensor: Strides [" + std::to_string(strides[0]), "[2, 3]"});
  }
  for (const Uints& strides :
       {Uints{3, 1}, Uints{1, 2}, Uints{100, 1}, Uints{7, 3}, Uints{1, 50}}) {
    node.output.strides = strides;
    accepts_dml("apart", node);
  }
  node = element_wise({1, 3, 1});
  node.output.strides = Uints{0, 1, 0};
  accepts_dml("strides of dimensions of 1 count nothing", node);
}

TEST(DirectMLElementWise, InputsMayOverlapThemselves) {
  DmlNode node = element_wise({3, 4});
  node.input.strides = Uints{1, 1};
  node.scale.strides = Uints{2, 1};
  node.zero_point->strides = Uints{0, 3};
  accepts_dml("windows that slide", node);
}

TEST(DirectMLDequantize, BlocksAreRatiosOfSizesOnEveryAxis) {
  const auto op = compile(dequantize({2, 64, 3}, {2, 2, 3}, DML_TENSOR_DATA_TYPE_INT4, kFloat16));
  ASSERT_TRUE(succeeds(op));
  // Both blocks of 32 of both rows follow one another: four rows of one block are the same.
  EXPECT_EQ(op->plan, (Plan{.input = Element::int4,
                            .scale = Element::float16,
                            .output = Element::float16,
                            .has_zero_point = true,
                            .granularity = Granularity::blocked,
                            .outer = 4,
                            .axis = 32,
                            .inner = 3,
                            .block = 32}));
  for (const Uints& param_sizes :
       {Uints{1, 1, 1}, Uints{6, 4, 9}, Uints{3, 2, 3}, Uints{2, 4, 1}}) {
    accepts_dml("all divide", dequantize({6, 4, 9}, param_sizes));
  }
}

TEST(DirectMLDequantize, BlocksThatDoNotDivideAreRefused) {
  rejects_dml(
      "the last block would be short", dequantize({2, 10}, {2, 4}),
      {"QuantizationTensors[0] (scale): Sizes [2, 4] do not divide those of InputTensor, [2, 10]",
       "in dimension 1"});
  rejects_dml("more scales than elements", dequantize({2, 4}, {2, 8}), {"do not divide"});
  DmlNode node = dequantize({2, 10}, {2, 5});
  node.zero_point->sizes = {2, 3};
  rejects_dml("zero point", node, {"QuantizationTensors[1] (zero point): Sizes [2, 3]"});
}

TEST(DirectMLDequantize, ScaleAndZeroPointMayHaveBlocksThatNest) {
  DmlNode node = dequantize({12}, {6});
  for (const UINT size : {1U, 2U, 3U, 6U, 12U}) {
    node.zero_point->sizes = {size};
    accepts_dml("one length divides the other", node);
  }
  node.zero_point->sizes = {4};
  rejects_dml(
      "blocks of 2 and of 3", node,
      {"QuantizationTensors[1] (zero point): blocks of 3 and those of QuantizationTensors[0] "
       "(scale), of 2, in dimension 0 do not nest"},
      ErrorCode::unsupported);
}

TEST(DirectMLDequantize, WithoutAZeroPointTheMidpointOfAnUnsignedTypeIsSubtracted) {
  const auto implicit = [](DML_TENSOR_DATA_TYPE type) {
    DmlNode node = dequantize({2, 4}, {2, 2}, type);
    node.zero_point.reset();
    const auto op = compile(node);
    EXPECT_TRUE(succeeds(op));
    return op ? op->plan.implicit_zero_point : -1;
  };
  EXPECT_EQ(implicit(DML_TENSOR_DATA_TYPE_UINT4), 8);
  EXPECT_EQ(implicit(DML_TENSOR_DATA_TYPE_UINT8), 128);
  EXPECT_EQ(implicit(DML_TENSOR_DATA_TYPE_INT4), 0);
  EXPECT_EQ(implicit(DML_TENSOR_DATA_TYPE_INT8), 0);
}

TEST(DirectMLDequantize, OutputHasTheSizesOfTheInputAndTheTypeOfTheScale) {
  DmlNode node = dequantize({2, 4}, {2, 2});
  node.output.sizes = {2, 2};
  rejects_dml("sizes", node,
              {"OutputTensor: Sizes [2, 2] differ from those of InputTensor, [2, 4]"});
  node = dequantize({2, 4}, {2, 2});
  node.output.type = kFloat16;
  rejects_dml("type", node, {"OutputTensor: DataType FLOAT16", "(scale), FLOAT32"});
  node = dequantize({2, 4}, {2, 2});
  node.zero_point->type = DML_TENSOR_DATA_TYPE_UINT4;
  rejects_dml("zero point", node,
              {"(zero point): DataType UINT4 differs from that of InputTensor"});
  rejects_dml("rank", dequantize({2, 4}, {4}), {"(scale): DimensionCount 1"});
}

TEST(DirectMLDequantize, QuantizationTypeAndCountMustAgree) {
  const DmlNode node = dequantize({2, 4}, {2, 2});
  const DmlView input(node.input), scale(node.scale), output(node.output);
  const std::array params{scale.desc, scale.desc, scale.desc};
  const auto refused = [&](UINT type, UINT count, const DML_TENSOR_DESC* tensors,
                           std::string_view word) {
    const DML_DEQUANTIZE_OPERATOR_DESC desc{&input.desc, static_cast<DML_QUANTIZATION_TYPE>(type),
                                            count, tensors, &output.desc};
    EXPECT_TRUE(is_invalid(directml::compile({node.type, &desc}, DML_FEATURE_LEVEL_6_4), word));
  };
  refused(0, 1, params.data(), "QuantizationType: 0");
  refused(3, 1, params.data(), "QuantizationType: 3");
  refused(1, 0, params.data(), "QuantizationTensorCount: 0 where SCALE takes 1");
  refused(1, 2, params.data(), "QuantizationTensorCount: 2 where SCALE takes 1");
  refused(2, 1, params.data(), "QuantizationTensorCount: 1 where SCALE_ZERO_POINT takes 2");
  refused(2, 3, params.data(), "QuantizationTensorCount: 3");
  refused(1, 1, nullptr, "QuantizationTensors: is null");
}

TEST(DirectMLDequantize, ScalesMayBroadcastByStridesToo) {
  DmlNode node = dequantize({4, 3, 8}, {4, 3, 2});
  node.scale.strides = Uints{0, 2, 1};
  node.zero_point->sizes = {4, 1, 1};
  node.zero_point->strides = Uints{0, 0, 0};
  accepts_dml("a batch that shares its scales", node);
}

}  // namespace
}  // namespace dequant::directml_compile_test
