// AWQ weights: the place of each code and of its parameters, and what is refused.
#include "dequant/awq.h"

#include <gtest/gtest.h>

#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/words.h"

namespace dequant::awq_test {
namespace {

using namespace testing;
using enum Element;

constexpr int64_t kIn = 40;
constexpr int64_t kOut = 24;
constexpr int64_t kGroup = 16;
constexpr int64_t kGroups = 3;  // of which the last one is short

/// The outputs whose codes a word has from the lowest bits on.
constexpr std::array<int64_t, 8> kOrder{0, 2, 4, 6, 1, 3, 5, 7};

uint32_t code(int64_t i, int64_t o) { return static_cast<uint32_t>(5 * i + 3 * o) & 15; }
uint32_t zero(int64_t g, int64_t o) { return static_cast<uint32_t>(9 * g + o) & 15; }
float scale(int64_t g, int64_t o) { return static_cast<float>(1 + 32 * g + o); }

template <class Code>
Bytes packed(int64_t rows, Code code_of) {
  WordMatrix m(rows, kOut / 8);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t w = 0; w < kOut / 8; ++w) {
      for (int64_t field = 0; field < 8; ++field) {
        const uint32_t c = code_of(r, 8 * w + kOrder[static_cast<size_t>(field)]);
        for (int b = 0; b < 4; ++b) m.put(r, w, 4 * field + b, c, b);
      }
    }
  }
  return m.bytes();
}

struct Shapes {
  Type qweight = {int32, {kIn, kOut / 8}};
  Type qzeros = {int32, {kGroups, kOut / 8}};
  Type scales = {float32, {kGroups, kOut}};
  int64_t group_size = kGroup;
  Element output = float32;
  awq::Version version = awq::Version::gemm;
};

/// Six groups of 32 inputs, whose rows of zero points have four words.
constexpr int64_t kGemvIn = 192;
Shapes gemv() {
  return {.qweight = {int32, {kOut, kGemvIn / 8}},
          .qzeros = {int32, {kOut, 4}},
          .scales = {float32, {kOut, 32}},
          .group_size = 32,
          .version = awq::Version::gemv};
}

Result<Plan> plan_of(const Shapes& s) {
  return awq::dequantize({{s.qweight.element, s.qweight.shape},
                          {s.qzeros.element, s.qzeros.shape},
                          {s.scales.element, s.scales.shape},
                          s.group_size,
                          s.output,
                          s.version});
}

TEST(Awq, WordsHaveEightOutputsInAnOrderOfTheirOwn) {
  const auto plan = plan_of({});
  ASSERT_TRUE(succeeds(plan));
  std::vector<uint32_t> scales;
  for (int64_t g = 0; g < kGroups; ++g) {
    for (int64_t o = 0; o < kOut; ++o) scales.push_back(bits_of(scale(g, o)));
  }
  Bytes y(bytes_for(float32, kIn * kOut));
  ASSERT_TRUE(
      succeeds(run(*plan, {packed(kIn, code), pack(float32, scales), packed(kGroups, zero), y})));
  for (int64_t o = 0; o < kOut; ++o) {
    for (int64_t i = 0; i < kIn; ++i) {
      const int64_t g = i / kGroup;
      const float difference = static_cast<float>(code(i, o)) - static_cast<float>(zero(g, o));
      ASSERT_EQ(float_of(code_at(float32, y, o * kIn + i)), difference * scale(g, o))
          << o << " " << i;
    }
  }
}

TEST(Awq, WordsOfGemvHaveEightInputsInTheirOrder) {
  const auto plan = plan_of(gemv());
  ASSERT_TRUE(succeeds(plan));
  WordMatrix codes(kOut, kGemvIn / 8), zeros(kOut, 4);
  std::vector<uint32_t> scales(kOut * 32, bits_of(-1.0F));
  for (int64_t o = 0; o < kOut; ++o) {
    for (int b = 0; b < 4; ++b) {
      for (int64_t i = 0; i < kGemvIn; ++i) codes.put(o, i / 8, i % 8 * 4 + b, code(i, o), b);
      for (int64_t g = 0; g < 6; ++g) zeros.put(o, g / 8, g % 8 * 4 + b, zero(g, o), b);
    }
    for (int64_t g = 0; g < 6; ++g) scales[static_cast<size_t>(32 * o + g)] = bits_of(scale(g, o));
  }
  Bytes y(bytes_for(float32, kGemvIn * kOut));
  ASSERT_TRUE(succeeds(run(*plan, {codes.bytes(), pack(float32, scales), zeros.bytes(), y})));
  for (int64_t o = 0; o < kOut; ++o) {
    for (int64_t i = 0; i < kGemvIn; ++i) {
      const float difference = static_cast<float>(code(i, o)) - static_cast<float>(zero(i / 32, o));
      ASSERT_EQ(float_of(code_at(float32, y, o * kGemvIn + i)), difference * scale(i / 32, o))
          << o << " " << i;
    }
  }
}

constexpr Rejects<Shapes> rejects;

TEST(Awq, GroupsAreThoseOfTheInputs) {
  EXPECT_TRUE(succeeds(plan_of({.qzeros = {int32, {1, kOut / 8}},
                                .scales = {float16, {1, kOut}},
                                .group_size = -1,
                                .output = float16})));
  rejects("too few", {.group_size = 8}, "scales: 3 groups where 40 inputs in groups of 8 need 5");
  rejects("no length", {.group_size = 0}, "group_size: 0");
  rejects("no zero points", {.qzeros = {int32, {2, 3}}}, "qzeros: shape [2, 3] where [3, 3]");
}

// The layouts gemv and gemm cannot be mistaken for each other.
TEST(Awq, OutputsAreEightInAWord) {
  rejects("as of gemv", {.qweight = {int32, {kOut, kIn / 8}}, .scales = {float16, {kOut, 8}}},
          "scales: shape [24, 8] where qweight, [24, 5], has 40 outputs");
}

TEST(Awq, RowsOfGemvArePaddedForItsKernel) {
  const auto of = [](int64_t in, int64_t size, int64_t words) {
    Shapes s = gemv();
    s.qweight.shape = {kOut, in / 8}, s.group_size = size;
    s.qzeros.shape = {kOut, words}, s.scales.shape = {kOut, words * 8};
    return s;
  };
  for (const Shapes& s : {of(4096, 128, 4), of(11008, 128, 11), of(11008, 64, 22), of(64, 64, 2),
                          of(4096, 32, 16), of(4128, 32, 20), of(4096, -1, 1), of(1024, 256, 1)}) {
    EXPECT_TRUE(succeeds(plan_of(s))) << s.group_size;
  }
  rejects("not padded", of(11008, 64, 21),
          "scales: shape [24, 168] where 11008 inputs in groups of "
          "64 need [24, 176]");
  rejects("groups of another layout", of(4096, 128, 8), "need [24, 32]");
  rejects("a short group", of(4160, 128, 5), "gemv has no groups of 128 for 4160 inputs");
  rejects("groups of 16", of(4096, 16, 32), "gemv has no groups of 16");
  Shapes s = gemv();
  s.qzeros.shape = {kOut, 1};
  rejects("fewer zero points", s, "qzeros: shape [24, 1] where [24, 4] are needed");
  s.qweight.shape = {0, int64_t{1} << 61};
  rejects("too many inputs", s, "qweight: shape [0, 2305843009213693952] has too many inputs");
}

TEST(Awq, TypesAreWordsAndFloats) {
  rejects("bytes", {.qweight = {uint8, {kIn, kOut / 8}}}, "qweight: element type uint8");
  rejects("zero points of bytes", {.qzeros = {int8, {kGroups, 3}}}, "qzeros: element type int8");
  rejects("scales of bytes", {.scales = {int8, {kGroups, kOut}}}, "scales: element type int8");
  rejects("no matrix", {.qweight = {int32, {kIn}}}, "qweight: shape [40]");
  rejects("an integer output", {.output = uint8}, "output");
  rejects("too many outputs", {.qweight = {int32, {0, int64_t{1} << 61}}}, "scales: shape");
}

}  // namespace
}  // namespace dequant::awq_test
