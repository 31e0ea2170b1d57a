// Hostile input: values of scales, and results at the edges of floats. Expected bits by IEEE 754.
#include <bit>

#include "c_api/hostile.h"

namespace dequant::testing::c::hostile_value_test {
namespace {

using Bits = std::vector<uint32_t>;
using Halves = std::vector<uint16_t>;

constexpr uint32_t kNan = 0x7FC00000;
constexpr uint32_t kInfinity = 0x7F800000;

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

/// float32 outputs of int8 x by one scale, as bits.
Bits by_scale(const std::vector<int8_t>& x, uint32_t scale) {
  const OnnxNode node{.x_dims = {static_cast<int64_t>(x.size())}};
  return dequantize<uint32_t>(node, x, Bits{scale});
}

/// float16 or bfloat16 outputs of int32 x by one float32 scale, as bits.
Halves narrow(dequant_element y, const std::vector<int32_t>& x, float scale) {
  const OnnxNode node{
      .x = DEQUANT_INT32, .x_dims = {static_cast<int64_t>(x.size())}, .output_dtype = y};
  return dequantize<uint16_t>(node, x, std::vector{scale});
}

TEST(Hostile, ScaleZeroGivesSignedZeros) {
  EXPECT_EQ(by_scale({-3, 0, 3}, bits(0.0F)), (Bits{0x80000000, 0, 0}));
  EXPECT_EQ(by_scale({-3, 0, 3}, bits(-0.0F)), (Bits{0, 0x80000000, 0x80000000}));
}

TEST(Hostile, NegativeScalesFlipTheSign) {
  EXPECT_EQ(by_scale({-3, 0, 3}, bits(-2.0F)), (Bits{bits(6.0F), 0x80000000, bits(-6.0F)}));
  const Dims one{1};
  auto webnn = sized<dequant_webnn>();
  webnn.input = tensor(DEQUANT_INT8, one);
  webnn.scale = tensor(DEQUANT_FLOAT32, one);
  webnn.zero_point = tensor(DEQUANT_INT8, one);
  Buffers b{.x = {3}, .scale = bytes_of<float>({-2.0F}), .zero_point = {1}};
  EXPECT_EQ(numbers_of<float>(output_of(plan(webnn), b)), std::vector{-4.0F});
}

TEST(Hostile, InfiniteScalesGiveInfinitiesAndNan) {
  EXPECT_EQ(by_scale({-3, 0, 3}, kInfinity), (Bits{0xFF800000, kNan, kInfinity}));
  EXPECT_EQ(by_scale({-3, 0, 3}, 0xFF800000), (Bits{kInfinity, kNan, 0xFF800000}));
}

TEST(Hostile, NanScalesGiveTheOneNan) {
  for (const uint32_t nan : {0x7FC00000u, 0xFFC00001u, 0x7F800001u, 0xFFBFFFFFu, 0x7FFFFFFFu}) {
    EXPECT_EQ(by_scale({-3, 0, 3}, nan), (Bits{kNan, kNan, kNan})) << nan;
  }
}

TEST(Hostile, SubnormalsAreKept) {
  EXPECT_EQ(by_scale({-1, 1, 127}, 0x00000001), (Bits{0x80000001, 1, 127}));
  EXPECT_EQ(by_scale({-1, 2, 3}, 0x00400000), (Bits{0x80400000, 0x00800000, 0x00C00000}));
}

TEST(Hostile, ProductsBeyondTheLargestAreInfinite) {
  EXPECT_EQ(by_scale({-2, 1, 2}, 0x7F7FFFFF), (Bits{0xFF800000, 0x7F7FFFFF, kInfinity}));
}

TEST(Hostile, NarrowOutputsRoundToNearestEven) {
  // float16: above 2048 every second integer, ties to the even one; 65520 is the first infinity.
  EXPECT_EQ(narrow(DEQUANT_FLOAT16, {2049, 2051, 2050, 65519, 65520, -65520}, 1.0F),
            (Halves{0x6800, 0x6802, 0x6801, 0x7BFF, 0x7C00, 0xFC00}));
  // Subnormals are multiples of 2^-24.
  EXPECT_EQ(narrow(DEQUANT_FLOAT16, {1, 2, 3, 5, 6, 7}, 0x1p-25F), (Halves{0, 1, 2, 2, 3, 4}));
  // bfloat16: above 256 every second integer.
  EXPECT_EQ(narrow(DEQUANT_BFLOAT16, {257, 259, 258, -257}, 1.0F),
            (Halves{0x4380, 0x4382, 0x4381, 0xC380}));
  EXPECT_EQ(narrow(DEQUANT_BFLOAT16, {1, 3}, 0x1p-134F), (Halves{0, 2}));
  EXPECT_EQ(narrow(DEQUANT_BFLOAT16, {1}, 0x1.FFp127F), Halves{0x7F80});
}

TEST(Hostile, ScalesOfSmallFloatsAreDecodedExactly) {
  OnnxNode node{.x_dims = {1}, .output_dtype = DEQUANT_FLOAT32};
  const auto one_by = [&](dequant_element scale, auto code) {
    node.scale = scale;
    return dequantize<uint32_t>(node, std::vector<int8_t>{1}, std::vector{code})[0];
  };
  EXPECT_EQ(one_by(DEQUANT_FLOAT16, uint16_t{0x0001}), bits(0x1p-24F));
  EXPECT_EQ(one_by(DEQUANT_FLOAT16, uint16_t{0x7BFF}), bits(65504.0F));
  EXPECT_EQ(one_by(DEQUANT_FLOAT16, uint16_t{0xFC00}), 0xFF800000);
  EXPECT_EQ(one_by(DEQUANT_FLOAT16, uint16_t{0x7C01}), kNan);
  EXPECT_EQ(one_by(DEQUANT_BFLOAT16, uint16_t{0x0001}), 0x00010000u);
  EXPECT_EQ(one_by(DEQUANT_BFLOAT16, uint16_t{0xFF81}), kNan);
  EXPECT_EQ(one_by(DEQUANT_FLOAT8E8M0, uint8_t{0x00}), bits(0x1p-127F));
  EXPECT_EQ(one_by(DEQUANT_FLOAT8E8M0, uint8_t{0x7F}), bits(1.0F));
  EXPECT_EQ(one_by(DEQUANT_FLOAT8E8M0, uint8_t{0xFE}), bits(0x1p127F));
  EXPECT_EQ(one_by(DEQUANT_FLOAT8E8M0, uint8_t{0xFF}), kNan);
}

}  // namespace
}  // namespace dequant::testing::c::hostile_value_test
