// Integer weights of Quark: the place of each code and zero point, and what is refused.
#include "dequant/quark.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dequant/scheme.h"
#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/words.h"

namespace dequant::quark_test {
namespace {

using namespace testing;
using enum Element;
using quark::DType;

/// By default [out, in] = [16, 70] in groups of 32, the last of which is short.
struct Weight {
  DType dtype = DType::uint4;
  Type weight = {int32, {70, 2}};
  Type scale = {float32, {3, 16}};
  std::optional<Type> zero = Type{int32, {3, 2}};
  int64_t group_size = 32;
  Element output = float32;
};

Result<Plan> plan_of(const Weight& w) {
  quark::Dequantize node{w.dtype,
                         {w.weight.element, w.weight.shape},
                         {w.scale.element, w.scale.shape},
                         {},
                         w.group_size,
                         w.output};
  if (w.zero) node.weight_zero_point = {w.zero->element, w.zero->shape};
  return quark::dequantize(node);
}

constexpr Rejects<Weight> rejects;

/// Where output 0, 1, ... of eight is in a word, counted in codes of 4 bits from the lowest on.
constexpr std::array<int64_t, 8> kPlace{0, 4, 1, 5, 2, 6, 3, 7};

void put(WordMatrix& m, int64_t row, int64_t output, uint32_t code) {
  for (int b = 0; b < 4; ++b) {
    m.put(row, output / 8, 4 * kPlace[static_cast<size_t>(output % 8)] + b, code, b);
  }
}

void expect_values(const Weight& w) {
  constexpr int64_t kOut = 16;
  constexpr int64_t kIn = 70;
  const auto plan = plan_of(w);
  ASSERT_TRUE(succeeds(plan));
  const auto code = [](int64_t o, int64_t i) { return static_cast<uint32_t>(5 * o + 3 * i) & 15; };
  const auto zero = [](int64_t g, int64_t o) { return static_cast<uint32_t>(7 * g + o) & 15; };
  const auto value = [&](uint32_t bits) {
    const auto number = static_cast<float>(bits);
    return w.dtype == DType::int4 && bits > 7 ? number - 16 : number;
  };
  WordMatrix x(kIn, kOut / 8);
  WordMatrix zeros(3, kOut / 8);
  std::vector<uint32_t> scales;
  for (int64_t o = 0; o < kOut; ++o) {
    for (int64_t i = 0; i < kIn; ++i) put(x, i, o, code(o, i));
    for (int64_t g = 0; g < 3; ++g) put(zeros, g, o, zero(g, o));
  }
  for (int64_t k = 0; k < 3 * kOut; ++k) scales.push_back(bits_of(static_cast<float>(k + 1)));
  const Bytes scale = pack(float32, scales);
  Bytes y(bytes_for(float32, kOut * kIn));
  Buffers buffers{x.bytes(), scale, {}, y};
  if (w.zero) buffers.zero_point = zeros.bytes();
  ASSERT_TRUE(succeeds(run(*plan, buffers)));
  for (int64_t o = 0; o < kOut; ++o) {
    for (int64_t i = 0; i < kIn; ++i) {
      const int64_t g = i / 32;
      const float subtracted = w.zero ? value(zero(g, o)) : 0;
      ASSERT_EQ(float_of(code_at(float32, y, o * kIn + i)),
                (value(code(o, i)) - subtracted) * static_cast<float>(g * kOut + o + 1))
          << o << " " << i;
    }
  }
}

TEST(Quark, WordsHaveTheCodesOfEightOutputsEvenOnesFirst) {
  expect_values({});
  expect_values({.dtype = DType::int4});
  expect_values({.dtype = DType::int4, .zero = {}});
}

TEST(Quark, Int8HasOneScaleOrOneForEachRow) {
  const Bytes x = pack(int8, {0x80, 0, 5, 0x7F});
  for (const bool rows : {false, true}) {
    const Fixed shape = rows ? Fixed{2} : Fixed{};
    const auto plan = plan_of({.dtype = DType::int8,
                               .weight = {int8, {2, 2}},
                               .scale = {float32, shape},
                               .zero = Type{int8, shape}});
    ASSERT_TRUE(succeeds(plan));
    const Bytes scale = pack(float32, {bits_of(1), bits_of(2)});
    const Bytes zero = pack(int8, {0x7F, 0xFF});
    Bytes y(16);
    const size_t used = rows ? 2 : 1;
    ASSERT_TRUE(succeeds(
        run(*plan, {x, std::span(scale).first(4 * used), std::span(zero).first(used), y})));
    std::vector<float> got;
    for (int64_t i = 0; i < 4; ++i) got.push_back(float_of(code_at(float32, y, i)));
    EXPECT_EQ(got, rows ? (std::vector<float>{-255, -127, 12, 256})
                        : (std::vector<float>{-255, -127, -122, 0}));
  }
}

// The list had a zero point that is never needed.
TEST(Quark, TheListOfSchemesSaysThatUint4NeedsAZeroPoint) {
  const auto quark = std::ranges::find(schemes(), "quark", &Scheme::name);
  ASSERT_NE(quark, schemes().end());
  EXPECT_EQ(quark->inputs.back().name, "weight_zero_point");
  EXPECT_TRUE(quark->inputs.back().what.ends_with("uint4 needs it"));
}

TEST(Quark, ShapesAreThoseOfWordsAndGroups) {
  rejects("bytes", {.weight = {uint8, {70, 8}}}, "weight: uint8[70, 8] is not int32 [in, out / 8]");
  rejects("a vector", {.weight = {int32, {70}}}, "is not int32 [in, out / 8]");
  rejects("no groups", {.group_size = 0}, "group_size: 0 is less than 1");
  rejects("groups", {.group_size = 64}, "weight_scale: float32[3, 16] where float32[2, 16]");
  rejects("scales of inputs first", {.scale = {float32, {16, 3}}}, "weight_scale: float32[16, 3]");
  rejects("scales of bytes", {.scale = {uint8, {3, 16}}}, "weight_scale: element type uint8");
  rejects("zero points", {.zero = Type{int32, {2, 3}}}, "weight_zero_point: int32[2, 3]");
  rejects("zero points of bytes", {.zero = Type{int8, {3, 16}}}, "weight_zero_point: int8");
  rejects("no zero points", {.zero = {}}, "weight_zero_point: weights of uint4 need one");
  rejects("too many outputs", {.weight = {int32, {1, int64_t{1} << 61}}}, "too many outputs");
  rejects("an integer output", {.output = int8}, "output");
}

TEST(Quark, Int8HasTheShapesOfRows) {
  const Weight w{
      .dtype = DType::int8, .weight = {int8, {4, 6}}, .scale = {float32, {4}}, .zero = {}};
  EXPECT_TRUE(succeeds(plan_of(w)));
  Weight other = w;
  other.weight.element = int32;
  rejects("words", other, "weight: int32[4, 6] is not int8");
  other = w;
  other.scale.shape = {6};
  rejects("columns", other, "weight_scale: shape [6] is neither one scale nor [4]");
  other = w;
  other.zero = Type{int8, {}};
  rejects("one zero point", other, "weight_zero_point: int8[] where int8[4]");
  other.zero = Type{int32, {4}};
  rejects("wide zero points", other, "weight_zero_point: int32[4]");
}

}  // namespace
}  // namespace dequant::quark_test
