// GGUF tensors: the plan of each, and what is refused.
#include "dequant/gguf.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/expect_error.h"

namespace dequant::gguf_test {
namespace {

using testing::fails;
using testing::is_invalid;
using testing::succeeds;
using enum Element;
using enum BlockType;
using Dims = std::vector<int64_t>;

TEST(Gguf, PlansRowsOfBlocks) {
  const auto plan = gguf::dequantize({.type = Q4_K, .shape = Dims{3, 4, 512}, .output = bfloat16});
  ASSERT_TRUE(succeeds(plan));
  Plan want{.output = bfloat16,
            .granularity = Granularity::blocked,
            .outer = 12,
            .axis = 512,
            .block = 256};
  want.parameters.x_blocks = Q4_K;
  EXPECT_EQ(*plan, want);
  EXPECT_EQ(to_string(*plan), "Q4_K[12, 512, 1] in blocks of 256 -> bfloat16");
  EXPECT_EQ(extents(*plan), (Extents{.x = 24 * 144, .y = 24 * 256}));
}

TEST(Gguf, PlansATensorScale) {
  const auto plan = gguf::dequantize({.type = NVFP4, .shape = Dims{2, 128}, .has_scale = true});
  ASSERT_TRUE(succeeds(plan));
  EXPECT_EQ(to_string(*plan), "NVFP4[1, 256, 1] in blocks of 64, times tensor scale -> float32");
  EXPECT_EQ(extents(*plan), (Extents{.x = 4 * 36, .y = 256, .tensor_scale = 1}));
}

TEST(Gguf, PlansAScaleForEachExpert) {
  const auto plan = gguf::dequantize(
      {.type = NVFP4, .shape = Dims{3, 2, 64}, .has_scale = true, .scale_per_expert = true});
  ASSERT_TRUE(succeeds(plan));
  EXPECT_EQ(to_string(*plan), "NVFP4[3, 128, 1] in blocks of 64, times 3 scales -> float32");
  EXPECT_EQ(extents(*plan), (Extents{.x = 6 * 36, .y = 384, .tensor_scale = 3}));
  EXPECT_EQ(slices_of(*plan, {127, 128}).tensor_scale, (Range{0, 1}));
  EXPECT_EQ(slices_of(*plan, {127, 129}).tensor_scale, (Range{0, 2}));
  EXPECT_EQ(slices_of(*plan, {128, 384}).tensor_scale, (Range{1, 3}));
  EXPECT_EQ(slices_of(*plan, {128, 128}).tensor_scale, Range{});
}

TEST(Gguf, SlicesAreWholeBlocks) {
  const auto plan = gguf::dequantize({.type = Q4_0, .shape = Dims{4, 64}});
  ASSERT_TRUE(succeeds(plan));
  const Slices slices = slices_of(*plan, {33, 96});
  EXPECT_EQ(slices.x, (Range{18, 3 * 18}));
  EXPECT_EQ(x_bytes_of(*plan, slices.x), (Range{18, 3 * 18}));
  EXPECT_EQ(slices.y, (Range{33, 96}));
  EXPECT_EQ(slices.scale, Range{});
  EXPECT_EQ(slices_of(*plan, {33, 97}).x, (Range{18, 4 * 18}));
}

TEST(Gguf, TakesEmptyTensors) {
  const Dims shapes[] = {{0}, {0, 256}, {256, 0}, {INT64_MAX / 512, 0, 256}};
  for (const Dims& shape : shapes) {
    const auto plan = gguf::dequantize({.type = Q6_K, .shape = shape});
    ASSERT_TRUE(succeeds(plan));
    EXPECT_TRUE(succeeds(run(*plan, {})));
  }
}

TEST(Gguf, RefusesShapesThatAreNoRowsOfBlocks) {
  const auto refuses = [](const Dims& shape, std::string_view words) {
    EXPECT_TRUE(is_invalid(gguf::dequantize({.type = Q4_K, .shape = shape}), words));
  };
  refuses({2, 128}, "rows of 128 in [2, 128] are no multiple of the 256 elements of a Q4_K block");
  refuses({256, 1}, "rows of 1 in [256, 1]");
  refuses({}, "shape: [] has rank 0");
  refuses({1, 1, 1, 1, 1, 1, 1, 1, 256}, "has rank 9, not 1 to 8");
  refuses({-1, 256}, "-1");
  refuses({INT64_MAX / 256, 2, 256}, "more than 2^63 - 1 elements");
  refuses({int64_t{1} << 53, 256}, "do not fit in 64 bits");
  EXPECT_TRUE(is_invalid(
      gguf::dequantize(
          {.type = Q4_K, .shape = Dims{256}, .has_scale = true, .scale_per_expert = true}),
      "shape: [256] has rows only, not one for each expert"));
}

TEST(Gguf, RefusesTypesAndOutputsThatAreNone) {
  const Dims shape{256};
  EXPECT_TRUE(is_invalid(gguf::dequantize({.type = static_cast<BlockType>(27), .shape = shape}),
                         "type: 27"));
  EXPECT_TRUE(is_invalid(gguf::dequantize({.type = Q4_K, .shape = shape, .output = int8}), "int8"));
}

TEST(Gguf, NamesTheTypesThatAreNoBlocks) {
  EXPECT_EQ(*gguf::block_type(12), Q4_K);
  EXPECT_EQ(*gguf::block_type("IQ2_XXS"), IQ2_XXS);
  const auto refuses = [](const auto& type, std::string_view words) {
    EXPECT_TRUE(fails(gguf::block_type(type), ErrorCode::unsupported, words));
  };
  refuses(4, "type: Q4_2, number 4, was removed from GGUF");
  refuses("Q4_0_4_8", "type: Q4_0_4_8, number 32, was removed from GGUF");
  refuses(38, "IQ4_NL_8_8");
  refuses(30, "type: BF16, number 30, has plain numbers, not blocks");
  refuses("F32", "plain numbers");
  refuses(43, "type: 43 is no type of GGUF");
  refuses(INT64_MIN, "is no type of GGUF");
  refuses("Q9_K", "type: \"Q9_K\" is no type of GGUF");
}

}  // namespace
}  // namespace dequant::gguf_test
