// Weights of compressed-tensors with an element for each code, and floats in blocks: which elements
// share a scale, the roundings, and what is refused.
#include "dequant/compressed_tensors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packed.h"

namespace dequant::compressed_tensors_test {
namespace {

using namespace testing;
using enum Element;
using compressed_tensors::Format;
using compressed_tensors::Strategy;

struct Weight {
  Format format = Format::float_quantized;
  Type weight = {float8e4m3fn, {4, 6}};
  Type scale = {float32, {1}};
  std::optional<Type> zero = {};
  std::optional<Type> global = {};
  std::optional<Type> g_idx = {};
  Strategy strategy = Strategy::tensor;
  int64_t group_size = 0;
  Fixed block = {};
  Element output = float32;
};

Result<Plan> plan_of(const Weight& w) {
  compressed_tensors::Dequantize node{.format = w.format,
                                      .weight = {w.weight.element, w.weight.shape},
                                      .weight_scale = {w.scale.element, w.scale.shape},
                                      .strategy = w.strategy,
                                      .group_size = w.group_size,
                                      .block_structure = w.block,
                                      .output = w.output};
  if (w.zero) node.weight_zero_point = {w.zero->element, w.zero->shape};
  if (w.global) node.weight_global_scale = {w.global->element, w.global->shape};
  if (w.g_idx) node.weight_g_idx = {w.g_idx->element, w.g_idx->shape};
  return compressed_tensors::dequantize(node);
}

constexpr Rejects<Weight> rejects;

/// The results as float32, with buffers of codes.
std::vector<float> values(const Weight& w, const Bytes& x, const Bytes& scale,
                          const Bytes& zero = {}, const Bytes& global = {},
                          const Bytes& index = {}) {
  const auto plan = plan_of(w);
  EXPECT_TRUE(succeeds(plan));
  if (!plan) return {};
  const int64_t count = element_count(*plan);
  Bytes y(bytes_for(float32, count));
  Buffers buffers{x, scale, zero, y};
  buffers.tensor_scale = global;
  buffers.group_index = index;
  EXPECT_TRUE(succeeds(run(*plan, buffers)));
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(float_of(code_at(float32, y, i)));
  return out;
}

/// Scales 1, 2, 3, ...
Bytes ascending(int64_t count) {
  std::vector<uint32_t> codes;
  for (int64_t i = 0; i < count; ++i) codes.push_back(bits_of(static_cast<float>(i + 1)));
  return pack(float32, codes);
}

const Bytes kOnes(24, std::byte{0x38});  // 1 as float8e4m3fn

TEST(CompressedTensors, TheStrategySaysWhichElementsShareAScale) {
  EXPECT_EQ(values({}, kOnes, ascending(1)), std::vector<float>(24, 1));
  EXPECT_EQ(values({.weight = {float8e4m3fn, {3, 2}},
                    .scale = {float32, {3, 1}},
                    .strategy = Strategy::channel},
                   Bytes(kOnes.begin(), kOnes.begin() + 6), ascending(3)),
            (std::vector<float>{1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(values({.weight = {float8e4m3fn, {2, 3}},
                    .scale = {float32, {2, 2}},
                    .strategy = Strategy::group,
                    .group_size = 2},
                   Bytes(kOnes.begin(), kOnes.begin() + 6), ascending(4)),
            (std::vector<float>{1, 1, 2, 3, 3, 4}));
  EXPECT_EQ(values({.weight = {float8e4m3fn, {3, 4}},
                    .scale = {float32, {2, 2}},
                    .strategy = Strategy::block,
                    .block = {2, 3}},
                   Bytes(kOnes.begin(), kOnes.begin() + 12), ascending(4)),
            (std::vector<float>{1, 1, 1, 2, 1, 1, 1, 2, 3, 3, 3, 4}));
}

TEST(CompressedTensors, AnIndexHasTheGroupOfEachColumn) {
  EXPECT_EQ(
      values({.weight = {float8e4m3fn, {2, 3}},
              .scale = {float32, {2, 2}},
              .g_idx = Type{int32, {3}},
              .strategy = Strategy::group,
              .group_size = 2},
             Bytes(kOnes.begin(), kOnes.begin() + 6), ascending(4), {}, {}, pack(int32, {1, 0, 1})),
      (std::vector<float>{2, 1, 2, 4, 3, 4}));
}

TEST(CompressedTensors, Int8MayHaveZeroPoints) {
  const Bytes x = pack(int8, {0x80, 0, 5, 0x7F});
  const Bytes zero = pack(int8, {0x7F, 0xFF});
  EXPECT_EQ(values({.format = Format::int_quantized,
                    .weight = {int8, {2, 2}},
                    .scale = {float32, {2, 1}},
                    .zero = Type{int8, {2, 1}},
                    .strategy = Strategy::channel},
                   x, ascending(2), zero),
            (std::vector<float>{-255, -127, 12, 256}));
}

// 3 * (1 + 2^-7) is halfway between two bfloat16.
TEST(CompressedTensors, ResultsAreRoundedToTheTypeOfTheScale) {
  const Bytes x = pack(int8, {3});
  const Weight w{.format = Format::int_quantized, .weight = {int8, {1, 1}}};
  Weight narrow = w;
  narrow.scale.element = bfloat16;
  EXPECT_EQ(values(narrow, x, pack(bfloat16, {0x3F81})), std::vector<float>{3.03125F});
  EXPECT_EQ(values(w, x, pack(float32, {0x3F810000})), std::vector<float>{3.0234375F});
}

/// The shapes of a row of 32 elements.
Weight nvfp4() {
  return {.format = Format::nvfp4_pack_quantized,
          .weight = {uint8, {1, 16}},
          .scale = {float8e4m3fn, {1, 2}},
          .global = Type{float32, {1}},
          .strategy = Strategy::group};
}

Weight mx(Format format, Type weight) {
  return {
      .format = format, .weight = weight, .scale = {uint8, {1, 1}}, .strategy = Strategy::group};
}

// 1 / 3 is rounded to float32, and 0.5 times that to bfloat16: 0x3E2B.
TEST(CompressedTensors, TheScalesOfNvfp4AreDividedByTheGlobalScale) {
  const auto y = values(nvfp4(), Bytes(16, std::byte{0x71}), pack(float8e4m3fn, {0x38, 0x40}), {},
                        pack(float32, {bits_of(3)}));
  ASSERT_EQ(y.size(), 32U);
  EXPECT_EQ(bits_of(y[0]), 0x3E2B0000U);
  EXPECT_EQ(y[1], 2);
  EXPECT_EQ(y[31], 4);
}

TEST(CompressedTensors, TheLargestScaleOfMxIsInfinity) {
  const auto y = values(mx(Format::mxfp4_pack_quantized, {uint8, {1, 16}}),
                        Bytes(16, std::byte{0x90}), Bytes{std::byte{0xFF}});
  ASSERT_EQ(y.size(), 32U);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], -INFINITY);
}

TEST(CompressedTensors, FourCodesOf6BitsFillThreeBytes) {
  // 1, 2, -4 and 0.125 of float6e2m3: 001000, 010000, 111000 and 000001.
  const Bytes three = {std::byte{0x08}, std::byte{0x84}, std::byte{0x07}};
  Bytes x;
  for (int i = 0; i < 8; ++i) x.insert(x.end(), three.begin(), three.end());
  const auto y =
      values(mx(Format::mxfp6_pack_quantized, {uint8, {1, 24}}), x, Bytes{std::byte{128}});
  ASSERT_EQ(y.size(), 32U);
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 4), (std::vector<float>{2, 4, -8, 0.25}));
}

TEST(CompressedTensors, Mxfp8HasAByteForEachCode) {
  const auto y = values(mx(Format::mxfp8_quantized, {float8e4m3fn, {1, 32}}),
                        Bytes(32, std::byte{0x38}), Bytes{std::byte{126}});
  EXPECT_EQ(y, std::vector<float>(32, 0.5F));
}

TEST(CompressedTensors, TypesAreThoseOfTheFormat) {
  rejects("integers", {.weight = {int8, {4, 6}}}, "int8 in format float-quantized");
  rejects("floats", {.format = Format::int_quantized}, "float8e4m3fn in format int-quantized");
  EXPECT_TRUE(succeeds(plan_of({.format = Format::naive_quantized})));
  EXPECT_TRUE(succeeds(plan_of({.format = Format::naive_quantized, .weight = {int8, {4, 6}}})));
  rejects("other floats", {.weight = {float8e5m2, {4, 6}}}, "weight: element type float8e5m2");
  rejects("bytes", {.scale = {uint8, {1}}}, "weight_scale: element type uint8");
  rejects("zero points of floats", {.zero = Type{int8, {1}}}, "both must be int8");
  rejects("other zero points",
          {.format = Format::int_quantized, .weight = {int8, {4, 6}}, .zero = Type{int8, {4, 1}}},
          "weight_zero_point: shape [4, 1]");
  rejects("a global scale", {.global = Type{float32, {1}}}, "weight_global_scale");
  rejects("an integer output", {.output = int8}, "output: element type int8");
}

TEST(CompressedTensors, ScalesHaveTheShapeThatTheStrategyDemands) {
  rejects("tensor", {.scale = {float32, {4, 1}}}, "strategy \"tensor\" has one scale");
  rejects("channel", {.scale = {float32, {4}}, .strategy = Strategy::channel}, "needs [4, 1]");
  rejects("group", {.scale = {float32, {4, 2}}, .strategy = Strategy::group, .group_size = 2},
          "in groups of 2 needs [4, 3]");
  rejects("no group size", {.scale = {float32, {4, 2}}, .strategy = Strategy::group},
          "group_size: there is none, and strategy \"group\" needs one");
  rejects("no block", {.scale = {float32, {2, 2}}, .strategy = Strategy::block},
          "block_structure: 0 lengths");
  rejects("block", {.scale = {float32, {2, 1}}, .strategy = Strategy::block, .block = {2, 3}},
          "dimension 1 is 1");
  rejects("a block of nothing",
          {.scale = {float32, {2, 1}}, .strategy = Strategy::block, .block = {0, 3}},
          "length 0 is 0");
  rejects("three dimensions",
          {.weight = {float8e4m3fn, {2, 2, 6}},
           .scale = {float32, {2, 1}},
           .strategy = Strategy::channel},
          "need a matrix");
  EXPECT_TRUE(succeeds(plan_of({.weight = {float8e4m3fn, {2, 2, 6}}})));
  rejects("an index of blocks",
          {.scale = {float32, {2, 2}},
           .g_idx = Type{int32, {6}},
           .strategy = Strategy::block,
           .block = {2, 3}},
          "weight_g_idx");
  rejects("an index of one scale", {.g_idx = Type{int32, {6}}}, "weight_g_idx");
}

TEST(CompressedTensors, FloatsInBlocksHaveTheirOwnScales) {
  Weight w = nvfp4();
  w.global.reset();
  rejects("no global scale", w, "weight_global_scale: weights of nvfp4 need one");
  w.global = Type{float32, {2}};
  rejects("two global scales", w, "weight_global_scale: float32[2]");
  w.global = Type{float16, {1}};
  rejects("another type", w, "weight_global_scale: float16[1]");
  w = nvfp4();
  w.scale.element = uint8;
  rejects("bytes", w, "weight_scale: element type uint8 is not float8e4m3fn");
  w = nvfp4();
  w.scale.shape = {1, 1};
  rejects("fewer scales", w, "weight_scale: dimension 1 is 1");
  w = nvfp4();
  w.zero = Type{int8, {1, 2}};
  rejects("zero points", w, "weight_zero_point");
  w = nvfp4();
  w.g_idx = Type{int32, {32}};
  rejects("an index", w, "weight_g_idx");
  w = nvfp4();
  w.weight = {int32, {1, 4}};
  rejects("words", w, "weight_packed: element type int32");
  w = mx(Format::mxfp4_pack_quantized, {uint8, {1, 16}});
  w.global = Type{float32, {1}};
  rejects("a global scale of mx", w, "weight_global_scale");
  rejects("a part of three bytes", mx(Format::mxfp6_pack_quantized, {uint8, {1, 25}}),
          "rows of 25 bytes hold no whole number");
}

}  // namespace
}  // namespace dequant::compressed_tensors_test
