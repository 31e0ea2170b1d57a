// MLX weights: rows of codes of every width, the two roundings of affine weights, the float modes,
// and what is refused.
#include "dequant/mlx.h"

#include <gtest/gtest.h>

#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/words.h"

namespace dequant::mlx_test {
namespace {

using namespace testing;
using enum Element;
using mlx::Mode;

struct Weight {
  Type weight = {uint32, {3, 16}};
  Type scales = {float32, {3, 4}};
  std::optional<Type> biases = Type{float32, {3, 4}};
  Mode mode = Mode::affine;
  int64_t bits = 4;
  int64_t group_size = 32;
  Element output = float32;
};

Result<Plan> plan_of(const Weight& w) {
  mlx::Dequantize node{.weight = {w.weight.element, w.weight.shape},
                       .scales = {w.scales.element, w.scales.shape},
                       .mode = w.mode,
                       .bits = w.bits,
                       .group_size = w.group_size,
                       .output = w.output};
  if (w.biases) node.biases = {w.biases->element, w.biases->shape};
  return mlx::dequantize(node);
}

constexpr Rejects<Weight> rejects;

TEST(Mlx, RowsAreStreamsOfBits) {
  constexpr int64_t kColumns = 128;
  for (const int bits : {1, 2, 3, 4, 5, 6, 8}) {
    SCOPED_TRACE(bits);
    const int64_t words = kColumns * bits / 32;
    const auto plan = plan_of({.weight = {uint32, {3, words}}, .bits = bits});
    ASSERT_TRUE(succeeds(plan));
    const auto code = [&](int64_t r, int64_t c) {
      return static_cast<uint32_t>(11 * r + 5 * c) & ((1u << bits) - 1);
    };
    WordMatrix m(3, words);
    std::vector<uint32_t> scales;
    std::vector<uint32_t> biases;
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t c = 0; c < kColumns; ++c) {
        for (int b = 0; b < bits; ++b) {
          const int64_t at = c * bits + b;
          m.put(r, at / 32, at % 32, code(r, c), b);
        }
      }
    }
    for (int64_t g = 0; g < 12; ++g) {
      scales.push_back(bits_of(static_cast<float>(g + 1)));
      biases.push_back(bits_of(static_cast<float>(-100 * g)));
    }
    Bytes y(bytes_for(float32, 3 * kColumns));
    ASSERT_TRUE(succeeds(run(*plan, {m.bytes(), pack(float32, scales), pack(float32, biases), y})));
    for (int64_t i = 0; i < 3 * kColumns; ++i) {
      const int64_t g = i / 32;
      const auto want =
          static_cast<float>(code(i / kColumns, i % kColumns) * static_cast<uint32_t>(g + 1)) -
          static_cast<float>(100 * g);
      ASSERT_EQ(float_of(code_at(float32, y, i)), want) << i;
    }
  }
}

/// The result of code 3 with a scale and a bias as bfloat16, with its lowest bits as float32.
uint32_t result(uint32_t scale, uint32_t bias, Element output) {
  const auto plan = plan_of({.weight = {uint32, {1, 4}},
                             .scales = {bfloat16, {1, 1}},
                             .biases = Type{bfloat16, {1, 1}},
                             .output = output});
  EXPECT_TRUE(succeeds(plan));
  const Bytes x(16, std::byte{0x33});
  Bytes y(bytes_for(output, 32));
  EXPECT_TRUE(succeeds(run(*plan, {x, pack(bfloat16, {scale}), pack(bfloat16, {bias}), y})));
  return code_at(output, y, 31);
}

// 3 * (1 + 2^-7) is 3 + 3 * 2^-7, halfway between two bfloat16; 2^-14 is then too little to count.
TEST(Mlx, AffineWeightsAreRoundedToTheTypeOfTheirScalesTwice) {
  constexpr uint32_t kScale = 0x3F81;  // 1 + 2^-7
  constexpr uint32_t kBias = 0xB880;   // -2^-14
  EXPECT_EQ(result(kScale, kBias, bfloat16), 0x4042U);
  EXPECT_EQ(result(kScale, kBias, float16), 0x4210U);  // the same number
  EXPECT_EQ(result(kScale, kBias, float32), bits_of(3.0F * 1.0078125F - 0.00006103515625F));
}

TEST(Mlx, FloatModesHaveBytesOfScales) {
  const auto mxfp4 = plan_of(
      {.weight = {uint32, {3, 8}}, .scales = {uint8, {3, 2}}, .biases = {}, .mode = Mode::mxfp4});
  ASSERT_TRUE(succeeds(mxfp4));
  EXPECT_EQ(mxfp4->input, float4e2m1);
  EXPECT_EQ(mxfp4->scale, float8e8m0);
  EXPECT_TRUE(mxfp4->parameters.infinite_e8m0);
  EXPECT_EQ(scale_count(*mxfp4), 6);
  const auto mxfp8 = plan_of({.weight = {uint32, {3, 16}},
                              .scales = {uint8, {3, 2}},
                              .biases = {},
                              .mode = Mode::mxfp8,
                              .bits = 8});
  ASSERT_TRUE(succeeds(mxfp8));
  EXPECT_EQ(mxfp8->input, float8e4m3fn);
  EXPECT_EQ(mxfp8->scale, float8e8m0);
  const auto nvfp4 = plan_of({.weight = {uint32, {3, 8}},
                              .scales = {uint8, {3, 4}},
                              .biases = {},
                              .mode = Mode::nvfp4,
                              .group_size = 16});
  ASSERT_TRUE(succeeds(nvfp4));
  EXPECT_EQ(nvfp4->input, float4e2m1);
  EXPECT_EQ(nvfp4->scale, float8e4m3fn);
  EXPECT_FALSE(nvfp4->parameters.infinite_e8m0);
  EXPECT_EQ(scale_count(*nvfp4), 12);
}

TEST(Mlx, NumbersAreThoseOfTheMode) {
  rejects("7 bits", {.bits = 7}, "bits: 7 is not one of 1, 2, 3, 4, 5, 6, 8");
  rejects("groups of 16", {.group_size = 16}, "group_size: 16 is not one of 32, 64, 128");
  rejects("a float of 8 bits", {.scales = {uint8, {3, 4}}, .mode = Mode::mxfp4, .bits = 8},
          "bits: 8 where mxfp4 has 4");
  rejects("its groups", {.scales = {uint8, {3, 4}}, .mode = Mode::nvfp4},
          "group_size: 32 where nvfp4 has 16");
  rejects("its scales", {.biases = {}, .mode = Mode::mxfp4}, "scales: element type float32");
  rejects("its biases", {.scales = {uint8, {3, 4}}, .mode = Mode::mxfp4}, "mxfp4 has none");
  rejects("bytes of affine scales", {.scales = {uint8, {3, 4}}}, "scales: element type uint8");
  rejects("no biases", {.biases = {}}, "affine weights need some");
  rejects("other biases", {.biases = Type{float16, {3, 4}}}, "biases: float16[3, 4]");
  rejects("fewer biases", {.biases = Type{float32, {3, 2}}}, "biases: float32[3, 2]");
}

TEST(Mlx, ShapesAreThoseOfWholeGroups) {
  EXPECT_TRUE(succeeds(plan_of({.weight = {uint32, {2, 3, 16}},
                                .scales = {float16, {2, 3, 4}},
                                .biases = Type{float16, {2, 3, 4}}})));
  rejects("half a group", {.weight = {uint32, {3, 18}}}, "rows of 18 words hold no whole groups");
  rejects("other groups", {.group_size = 64}, "scales: dimension 1 is 4");
  rejects("another rank", {.scales = {float32, {12}}, .biases = Type{float32, {12}}},
          "scales: shape [12]");
  rejects("bytes", {.weight = {uint8, {3, 16}}}, "weight: element type uint8");
  rejects("a scalar", {.weight = {uint32, {}}}, "rank 0");
  rejects("too many columns", {.weight = {uint32, {3, int64_t{1} << 60}}}, "weight");
  rejects("an integer output", {.output = int8}, "output");
}

}  // namespace
}  // namespace dequant::mlx_test
