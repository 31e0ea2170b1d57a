// Weights of torchao: blocks of every shape, zero points, and what is refused.
#include "dequant/torchao.h"

#include <gtest/gtest.h>

#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packed.h"

namespace dequant::torchao_test {
namespace {

using namespace testing;
using enum Element;

struct Weight {
  Type qdata = {int8, {4, 6}};
  Type scale = {float32, {4, 2}};
  std::optional<Type> zero_point = Type{int8, {4, 2}};
  Fixed block_size = {1, 3};
  Element output = float32;
};

Result<Plan> plan_of(const Weight& w) {
  torchao::Dequantize node{.qdata = {w.qdata.element, w.qdata.shape},
                           .scale = {w.scale.element, w.scale.shape},
                           .block_size = w.block_size,
                           .output = w.output};
  if (w.zero_point) node.zero_point = {w.zero_point->element, w.zero_point->shape};
  return torchao::dequantize(node);
}

constexpr Rejects<Weight> rejects;

TEST(Torchao, ZeroPointsAreSubtractedBeforeTheProduct) {
  const auto plan = plan_of({});
  ASSERT_TRUE(succeeds(plan));
  Bytes x;
  for (int i = 0; i < 24; ++i) x.push_back(static_cast<std::byte>(11 * i - 128));
  Bytes zeros;
  std::vector<uint32_t> scales;
  for (int g = 0; g < 8; ++g) {
    zeros.push_back(static_cast<std::byte>(127 - 30 * g));
    scales.push_back(bits_of(static_cast<float>(g + 1)));
  }
  Bytes y(bytes_for(float32, 24));
  ASSERT_TRUE(succeeds(run(*plan, {x, pack(float32, scales), zeros, y})));
  for (int i = 0; i < 24; ++i) {
    const int g = i / 3;
    const auto q = static_cast<int8_t>(11 * i - 128);
    const auto z = static_cast<int8_t>(127 - 30 * g);
    ASSERT_EQ(float_of(code_at(float32, y, i)), static_cast<float>((q - z) * (g + 1))) << i;
  }
}

TEST(Torchao, CodesMayBeFloats) {
  EXPECT_TRUE(succeeds(plan_of({.qdata = {float8e4m3fn, {4, 6}},
                                .scale = {bfloat16, {4, 1}},
                                .zero_point = {},
                                .block_size = {1, 6}})));
  EXPECT_TRUE(
      succeeds(plan_of({.scale = {float16, {1, 1}}, .zero_point = {}, .block_size = {4, 6}})));
}

TEST(Torchao, TensorsFitOneAnother) {
  rejects("blocks", {.block_size = {1, 2}},
          "scale: dimension 1 is 2 where 6 of qdata in blocks of 2");
  rejects("no blocks", {.block_size = {}}, "block_size");
  rejects("fewer lengths", {.block_size = {3}}, "1 lengths for the 2 dimensions");
  rejects("zero points", {.zero_point = Type{int8, {4, 1}}}, "zero_point: int8[4, 1]");
  rejects("wide ones", {.zero_point = Type{int32, {4, 2}}}, "zero_point: int32[4, 2]");
  rejects("of floats", {.qdata = {float8e4m3fn, {4, 6}}}, "for qdata of float8e4m3fn");
  rejects("unsigned", {.qdata = {uint8, {4, 6}}}, "qdata: element type uint8");
  rejects("scales of bytes", {.scale = {uint8, {4, 2}}}, "scale: element type uint8");
  rejects("an integer output", {.output = int8}, "output");
}

}  // namespace
}  // namespace dequant::torchao_test
