// HQQ weights: slabs of rows in the words, groups along both axes, the two roundings, and what is
// refused.
#include "dequant/hqq.h"

#include <gtest/gtest.h>

#include <cstring>

#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packed.h"

namespace dequant::hqq_test {
namespace {

using namespace testing;
using enum Element;

struct Weight {
  Type W_q = {uint8, {12, 8}};
  Type scale = {float32, {24, 1}};
  std::optional<Type> zero = {};  ///< as scale
  Fixed shape = {12, 16};
  int64_t bits = 4;
  int64_t group_size = 8;
  int64_t axis = 1;
  Element output = float32;
};

Result<Plan> plan_of(const Weight& w) {
  const Type& zero = w.zero ? *w.zero : w.scale;
  return hqq::dequantize({{w.W_q.element, w.W_q.shape},
                          {w.scale.element, w.scale.shape},
                          {zero.element, zero.shape},
                          w.shape,
                          w.bits,
                          w.group_size,
                          w.axis,
                          w.output});
}

constexpr Rejects<Weight> rejects;

/// A matrix of `rows` x `columns` codes in slabs, and the floats that the plan gives for it, with
/// scale g + 1 and zero point g / 2 of group g.
void expect_values(const Weight& w, int64_t rows, int64_t columns, int64_t slab_rows) {
  SCOPED_TRACE(w.bits);
  const auto plan = plan_of(w);
  ASSERT_TRUE(succeeds(plan));
  const auto code = [&](int64_t r, int64_t c) {
    return static_cast<uint32_t>(13 * r + 5 * c) & ((1u << w.bits) - 1);
  };
  const int64_t word_bytes = w.bits == 3 ? 4 : 1;
  const int64_t fields = w.bits == 3 ? 10 : 8 / w.bits;
  Bytes x(static_cast<size_t>(slab_rows * columns * word_bytes));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const auto at = static_cast<size_t>((r % slab_rows * columns + c) * word_bytes);
      uint32_t word = 0;
      std::memcpy(&word, x.data() + at, static_cast<size_t>(word_bytes));
      word |= code(r, c) << (w.bits * (fields - 1 - r / slab_rows));
      std::memcpy(x.data() + at, &word, static_cast<size_t>(word_bytes));
    }
  }
  const int64_t groups = w.axis == 1 ? rows : columns;
  std::vector<uint32_t> scales;
  std::vector<uint32_t> zeros;
  for (int64_t g = 0; g < groups; ++g) {
    scales.push_back(bits_of(static_cast<float>(g + 1)));
    zeros.push_back(bits_of(0.5F * static_cast<float>(g)));
  }
  Bytes y(bytes_for(float32, rows * columns));
  ASSERT_TRUE(succeeds(run(*plan, {x, pack(float32, scales), pack(float32, zeros), y})));
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t g = w.axis == 1 ? i / columns : i % columns;
    const float difference =
        static_cast<float>(code(i / columns, i % columns)) - 0.5F * static_cast<float>(g);
    ASSERT_EQ(float_of(code_at(float32, y, i)), difference * static_cast<float>(g + 1)) << i;
  }
}

TEST(Hqq, TheFirstSlabIsInTheHighestBits) {
  for (const int64_t bits : {1, 2, 4, 8}) {
    const int64_t rows = 24 * bits / 8;
    expect_values({.W_q = {uint8, {rows, 8}}, .bits = bits}, 24, 8, rows);
  }
}

TEST(Hqq, TenCodesOf3BitsShareAWord) {
  expect_values({.W_q = {int32, {3, 8}}, .bits = 3}, 24, 8, 3);  // the last slab is short
}

TEST(Hqq, GroupsMayBeColumns) {
  expect_values({.W_q = {uint8, {4, 24}}, .scale = {float32, {1, 24}}, .axis = 0}, 8, 24, 4);
}

// In float16 5 - 0.0001 is 5, and 5 * 0.1: the difference is rounded before the product.
TEST(Hqq, TheDifferenceIsRoundedToTheTypeOfTheScales) {
  for (const auto& [output, want] :
       {std::pair{float16, 0x3800U}, std::pair{float32, 0x3F000000U}}) {
    const auto plan = plan_of(
        {.W_q = {uint8, {1, 8}}, .scale = {float16, {2, 1}}, .shape = {2, 8}, .output = output});
    ASSERT_TRUE(succeeds(plan));
    Bytes y(bytes_for(output, 16));
    ASSERT_TRUE(succeeds(run(*plan, {Bytes(8, std::byte{0x55}), pack(float16, {0x2E66, 0x2E66}),
                                     pack(float16, {0x068E, 0x068E}), y})));
    EXPECT_EQ(code_at(output, y, 0), want);
  }
}

TEST(Hqq, TensorsFitTheShape) {
  rejects("codes", {.W_q = {uint8, {24, 8}}}, "W_q: uint8[24, 8] where uint8[12, 8] is needed");
  rejects("words", {.W_q = {int32, {12, 8}}}, "W_q: element type int32 where codes of 4 bits need");
  rejects("bytes of 3 bits", {.bits = 3}, "need int32");
  rejects("rows that fill no bytes",
          {.W_q = {uint8, {2, 8}}, .scale = {float32, {3, 1}}, .shape = {3, 8}},
          "shape: 3 rows of groups do not fill words of 2 codes");
  rejects("scales", {.scale = {float32, {1, 24}}}, "scale: float32[1, 24]");
  rejects("zero points", {.zero = Type{float32, {12, 1}}}, "zero: float32[12, 1]");
  rejects("their type", {.zero = Type{float16, {24, 1}}}, "zero: float16[24, 1]");
  rejects("scales of bytes", {.scale = {uint8, {24, 1}}}, "scale: element type uint8");
}

TEST(Hqq, NumbersAreThoseOfTheFormat) {
  rejects("5 bits", {.bits = 5}, "bits: 5 is not one of 1, 2, 3, 4, 8");
  rejects("groups", {.group_size = 7}, "group_size: 192 elements have no groups of 7");
  rejects("no group", {.group_size = 0}, "have no groups of 0");
  rejects("another axis", {.axis = 2}, "axis: 2 is neither 0 nor 1");
  rejects("too many elements", {.shape = {int64_t{1} << 40, int64_t{1} << 40}}, "do not fit");
  rejects("an integer output", {.output = int8}, "output");
}

}  // namespace
}  // namespace dequant::hqq_test
