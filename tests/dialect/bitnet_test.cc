// Ternary weights of BitNet: slabs of rows in bytes, scales that divide or multiply, and what is
// refused.
#include "dequant/bitnet.h"

#include <gtest/gtest.h>

#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packed.h"

namespace dequant::bitnet_test {
namespace {

using namespace testing;
using bitnet::LinearClass;
using enum Element;

struct Weight {
  Type weight = {uint8, {2, 3}};
  Type scale = {float32, {1}};
  LinearClass linear_class = LinearClass::bitlinear;
  Element output = float32;
};

bitnet::Dequantize node_of(const Weight& w) {
  return {.weight = {w.weight.element, w.weight.shape},
          .weight_scale = {w.scale.element, w.scale.shape},
          .linear_class = w.linear_class,
          .output = w.output};
}

Result<Plan> plan_of(const Weight& w) { return bitnet::dequantize(node_of(w)); }

constexpr Rejects<Weight> rejects;

/// The float32 of one byte of codes; the first is in the lowest bits.
std::vector<float> floats_of(LinearClass linear_class, uint8_t byte, Element type, uint32_t scale) {
  const auto plan =
      plan_of({.weight = {uint8, {1, 1}}, .scale = {type, {1}}, .linear_class = linear_class});
  EXPECT_TRUE(succeeds(plan));
  Bytes y(bytes_for(float32, 4));
  EXPECT_TRUE(
      succeeds(run(*plan, {Bytes(1, static_cast<std::byte>(byte)), pack(type, {scale}), {}, y})));
  std::vector<float> out;
  for (int64_t i = 0; i < 4; ++i) out.push_back(float_of(code_at(float32, y, i)));
  return out;
}

// The example of unpack_weights() in transformers, all eight rows.
TEST(Bitnet, TheFirstQuarterOfTheRowsIsInTheLowestBits) {
  const auto plan =
      plan_of({.weight = {uint8, {2, 2}}, .linear_class = LinearClass::autobitlinear});
  ASSERT_TRUE(succeeds(plan));
  const Bytes x{std::byte{0b10100001}, std::byte{0b00011000}, std::byte{0b10010000},
                std::byte{0b00001010}};
  Bytes y(bytes_for(float32, 16));
  ASSERT_TRUE(succeeds(run(*plan, {x, pack(float32, {bits_of(1.0F)}), {}, y})));
  const float want[] = {0, -1, -1, 1, -1, 1, -1, 1, 1, 0, 0, -1, 1, -1, 1, -1};
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(float_of(code_at(float32, y, i)), want[i]) << i;
}

TEST(Bitnet, LayersDivideByTheScaleOrMultiply) {
  constexpr uint8_t kCodes = 0b11100100;  // -1, 0, 1, 2
  const uint32_t three = bits_of(3.0F);
  EXPECT_EQ(floats_of(LinearClass::bitlinear, kCodes, float32, three),
            (std::vector{-1.0F / 3, 0.0F, 1.0F / 3, 2.0F / 3}));
  EXPECT_EQ(floats_of(LinearClass::autobitlinear, kCodes, float32, three),
            (std::vector{-3.0F, 0.0F, 3.0F, 6.0F}));
  EXPECT_EQ(floats_of(LinearClass::bitlinear, kCodes, bfloat16, 0x4049),
            (std::vector{-1.0F / 3.140625F, 0.0F, 1.0F / 3.140625F, 2.0F / 3.140625F}));
  EXPECT_EQ(floats_of(LinearClass::autobitlinear, kCodes, float16, 0x4248),
            (std::vector{-3.140625F, 0.0F, 3.140625F, 6.28125F}));
}

// The reciprocal is infinite of 2^-128 and less, and subnormal above 2^126.
TEST(Bitnet, ProductsWithTheReciprocalAreTheQuotientsOfScalesInBetween) {
  for (const uint32_t scale : {0x00200001U, 0x00800000U, 0x3EAAAAABU, 0x40490FDBU, 0x7E800000U,
                               0x7F800000U, 0x00000000U, 0x80000000U, 0xC0490FDBU, 0xFF800000U}) {
    const float s = float_of(scale);
    const auto got = floats_of(LinearClass::bitlinear, 0b11100100, float32, scale);
    for (int code = -1; code <= 2; ++code) {
      const float want = static_cast<float>(code) / s;
      const float is = got[static_cast<size_t>(code + 1)];
      if (want != want) {
        EXPECT_NE(is, is) << s;
      } else {
        EXPECT_EQ(bits_of(is), bits_of(want)) << code << " / " << s;
      }
    }
  }
}

TEST(Bitnet, WeightsOfAnyRankHaveRows) {
  const auto dense = bitnet::dense_shape(node_of({.weight = {uint8, {2, 3, 5}}}));
  ASSERT_TRUE(succeeds(dense));
  EXPECT_EQ(*dense, (std::vector<int64_t>{8, 3, 5}));
  EXPECT_TRUE(succeeds(plan_of({.weight = {uint8, {0, 3}}})));
  EXPECT_TRUE(succeeds(plan_of({.weight = {uint8, {7}}, .scale = {bfloat16, {}}})));
}

TEST(Bitnet, TensorsAreThoseOfTheProducer) {
  rejects("signed", {.weight = {int8, {2, 3}}}, "weight: element type int8 is not uint8");
  rejects("a scalar", {.weight = {uint8, {}}}, "weight: shape []");
  rejects("rank 9", {.weight = {uint8, {1, 1, 1, 1, 1, 1, 1, 1, 1}}}, "up to 8 dimensions");
  rejects("too many rows", {.weight = {uint8, {INT64_MAX / 2, 1}}}, "weight: shape");
  rejects("too many elements", {.weight = {uint8, {INT64_MAX / 8, 4}}}, "weight: shape");
  rejects("a scale of bytes", {.scale = {uint8, {1}}}, "weight_scale: element type uint8");
  rejects("scales of rows", {.scale = {float32, {8}}}, "weight_scale: shape [8]");
  rejects("a matrix", {.scale = {float32, {1, 1}}}, "weight_scale: shape [1, 1]");
  rejects("no scale", {.scale = {float32, {0}}}, "weight_scale: shape [0]");
  rejects("no class", {.linear_class = static_cast<LinearClass>(2)}, "linear_class: 2 is none");
  rejects("an integer output", {.output = int8}, "output");
}

}  // namespace
}  // namespace dequant::bitnet_test
