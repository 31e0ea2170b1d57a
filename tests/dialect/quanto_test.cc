// Weights of quanto: slabs of rows in bytes, the shift after the product, and what is refused.
#include "dequant/quanto.h"

#include <gtest/gtest.h>

#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packed.h"

namespace dequant::quanto_test {
namespace {

using namespace testing;
using enum Element;

struct Weight {
  Type data = {uint8, {3, 8}};
  Type scale = {float32, {5, 1}};
  std::optional<Type> shift = Type{float32, {5, 1}};
  int64_t bits = 4;
  Fixed shape = {};
  Element output = float32;
};

quanto::Dequantize node_of(const Weight& w) {
  quanto::Dequantize node{.data = {w.data.element, w.data.shape},
                          .scale = {w.scale.element, w.scale.shape},
                          .bits = w.bits,
                          .shape = w.shape,
                          .output = w.output};
  if (w.shift) node.shift = {w.shift->element, w.shift->shape};
  return node;
}

Result<Plan> plan_of(const Weight& w) { return quanto::dequantize(node_of(w)); }

constexpr Rejects<Weight> rejects;

// Five rows in slabs of ceil(5 / slabs) rows: the last slab is short.
TEST(Quanto, TheFirstSlabIsInTheLowestBits) {
  for (const int bits : {2, 4}) {
    SCOPED_TRACE(bits);
    const int64_t slab_rows = bits == 2 ? 2 : 3;
    const auto plan = plan_of({.data = {uint8, {slab_rows, 8}}, .bits = bits});
    ASSERT_TRUE(succeeds(plan));
    const auto code = [&](int64_t r, int64_t c) {
      return static_cast<uint32_t>(7 * r + 3 * c) & ((1u << bits) - 1);
    };
    Bytes x(static_cast<size_t>(slab_rows * 8));
    std::vector<uint32_t> scales;
    std::vector<uint32_t> shifts;
    for (int64_t r = 0; r < 5; ++r) {
      scales.push_back(bits_of(static_cast<float>(r + 1)));
      shifts.push_back(bits_of(static_cast<float>(100 * r)));
      for (int64_t c = 0; c < 8; ++c) {
        x[static_cast<size_t>(r % slab_rows * 8 + c)] |=
            static_cast<std::byte>(code(r, c) << (bits * (r / slab_rows)));
      }
    }
    Bytes y(bytes_for(float32, 40));
    ASSERT_TRUE(succeeds(run(*plan, {x, pack(float32, scales), pack(float32, shifts), y})));
    for (int64_t i = 0; i < 40; ++i) {
      const int64_t r = i / 8;
      const float want = static_cast<float>(code(r, i % 8)) * static_cast<float>(r + 1) -
                         static_cast<float>(100 * r);
      ASSERT_EQ(float_of(code_at(float32, y, i)), want) << i;
    }
  }
}

// 3 * (1 + 2^-7) lies halfway between two bfloat16, and 2^-14 more is then too little to count.
TEST(Quanto, ResultsAreRoundedToTheTypeOfTheScalesTwice) {
  const auto plan = plan_of(
      {.data = {uint8, {1, 1}}, .scale = {bfloat16, {1, 1}}, .shift = Type{bfloat16, {1, 1}}});
  ASSERT_TRUE(succeeds(plan));
  Bytes y(4);
  ASSERT_TRUE(succeeds(
      run(*plan, {Bytes(1, std::byte{3}), pack(bfloat16, {0x3F81}), pack(bfloat16, {0x3880}), y})));
  EXPECT_EQ(code_at(float32, y, 0), 0x40420000U);
}

TEST(Quanto, BytesAreScaledInTheTypeOfTheScales) {
  const auto plan =
      plan_of({.data = {int8, {1, 1}}, .scale = {bfloat16, {1, 1}}, .shift = {}, .bits = 8});
  ASSERT_TRUE(succeeds(plan));
  Bytes y(4);
  ASSERT_TRUE(succeeds(run(*plan, {Bytes(1, std::byte{3}), pack(bfloat16, {0x3F81}), {}, y})));
  EXPECT_EQ(code_at(float32, y, 0), 0x40420000U);
  EXPECT_TRUE(succeeds(plan_of({.data = {float8e5m2, {5, 8, 3, 3}},
                                .scale = {float16, {5, 1, 1, 1}},
                                .shift = {},
                                .bits = 8})));
  EXPECT_TRUE(succeeds(
      plan_of({.data = {float8e4m3fn, {5, 8}}, .scale = {float16, {}}, .shift = {}, .bits = 8})));
}

TEST(Quanto, RowsMayBeGroupsOfLongerRows) {
  const auto plain = quanto::dense_shape(node_of({}));
  ASSERT_TRUE(succeeds(plain));
  EXPECT_EQ(*plain, (std::vector<int64_t>{5, 8}));
  const Weight grouped{.shape = {1, 40}};
  const auto dense = quanto::dense_shape(node_of(grouped));
  ASSERT_TRUE(succeeds(dense));
  EXPECT_EQ(*dense, (std::vector<int64_t>{1, 40}));
  EXPECT_EQ(plan_of(grouped).value(), plan_of({}).value());
  rejects("other elements", {.shape = {2, 24}}, "shape: [2, 24] has not the elements of [5, 8]");
}

TEST(Quanto, TensorsFitOneAnother) {
  rejects("rows", {.data = {uint8, {4, 8}}}, "data: shape [4, 8] where the rows of scale, [5, 1]");
  rejects("scales of columns", {.scale = {float32, {5, 2}}, .shift = Type{float32, {5, 2}}},
          "scale: dimension 1 is 2");
  rejects("shifts", {.shift = Type{float32, {5}}}, "shift: float32[5]");
  rejects("their type", {.shift = Type{float16, {5, 1}}}, "shift: float16[5, 1]");
  rejects("no shift", {.shift = {}}, "shift: weights of 4 bits need one");
  rejects("a shift of bytes", {.data = {int8, {5, 8}}, .bits = 8}, "of 8 bits have none");
  rejects("signed", {.data = {int8, {3, 8}}}, "data: element type int8 is not uint8");
  rejects("unsigned bytes", {.data = {uint8, {5, 8}}, .shift = {}, .bits = 8},
          "data: element type uint8 is not int8 or a float8");
  rejects("scales of bytes", {.scale = {uint8, {5, 1}}}, "scale: element type uint8");
  rejects("3 bits", {.bits = 3}, "bits: 3 is not one of 2, 4, 8");
  rejects("a scalar", {.data = {uint8, {}}}, "data: shape []");
  rejects("an integer output", {.output = int8}, "output");
}

}  // namespace
}  // namespace dequant::quanto_test
