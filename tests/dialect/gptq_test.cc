// GPTQ weights: the place of each code, zero point and scale, for every width and format, and what
// is refused.
#include "dequant/gptq.h"

#include <gtest/gtest.h>

#include <cstring>

#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packing.h"
#include "support/words.h"

namespace dequant::gptq_test {
namespace {

using namespace testing;
using enum Element;
using gptq::Carry;
using gptq::Format;

/// A weight of 5 outputs and 70 inputs in groups of 32: neither fills words, and the last group is
/// short.
struct Weight {
  Format format = Format::v1;
  int bits = 4;
  Carry carry = Carry::field;
  std::vector<int32_t> g_idx = {};
  int64_t out = 5;
  int64_t in = 70;
  int64_t group_size = 32;

  int64_t groups() const { return (in + group_size - 1) / group_size; }
  int64_t group_of(int64_t i) const {
    return g_idx.empty() ? i / group_size : g_idx[static_cast<size_t>(i)];
  }
  uint32_t mask() const { return (1u << bits) - 1; }
  uint32_t code(int64_t o, int64_t i) const {
    return static_cast<uint32_t>(7 * o + 3 * i) & mask();
  }
  /// The zero point that is subtracted; from 1 on, where it is stored less 1.
  uint32_t zero(int64_t g, int64_t o) const {
    const auto any = static_cast<uint32_t>(5 * g + o);
    return format == Format::v1 ? 1 + any % mask() : any & mask();
  }
  static float scale(int64_t g, int64_t o) { return static_cast<float>(1 + 8 * g + o); }

  bool planar() const { return format == Format::planar; }
  int64_t words(int64_t codes) const {
    return planar() ? (codes + 31) / 32 * bits : (codes * bits + 31) / 32;
  }
  /// Bit b of code k of a row of codes, counted over the words of the row.
  int64_t bit(int64_t k, int b) const {
    const CodeOrder order = planar() ? CodeOrder::planes : CodeOrder::stream;
    return bit_of_row({order, bits, 0, 0}, k, b);
  }

  Bytes qweight() const {
    WordMatrix m(words(in), out);
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) {
        for (int b = 0; b < bits; ++b) m.put(bit(i, b) / 32, o, bit(i, b) % 32, code(o, i), b);
      }
    }
    return m.bytes();
  }
  Bytes qzeros() const {
    WordMatrix m(groups(), words(out));
    for (int64_t g = 0; g < groups(); ++g) {
      for (int64_t o = 0; o < out; ++o) {
        const uint32_t stored = zero(g, o) - (format == Format::v1 ? 1 : 0);
        for (int b = 0; b < bits; ++b) m.put(g, bit(o, b) / 32, bit(o, b) % 32, stored, b);
      }
    }
    return m.bytes();
  }
  Bytes scales() const {
    std::vector<uint32_t> codes;
    for (int64_t g = 0; g < groups(); ++g) {
      for (int64_t o = 0; o < out; ++o) codes.push_back(bits_of(scale(g, o)));
    }
    return pack(float32, codes);
  }
  Bytes index() const { return pack(int32, {g_idx.begin(), g_idx.end()}); }
};

Result<Plan> plan_of(const Weight& w) {
  const std::array qweight{w.words(w.in), w.out};
  const std::array qzeros{w.groups(), w.words(w.out)};
  const std::array scales{w.groups(), w.out};
  const std::array index{static_cast<int64_t>(w.g_idx.size())};
  gptq::Dequantize node{.qweight = {int32, qweight},
                        .qzeros = {int32, qzeros},
                        .scales = {float32, scales},
                        .bits = w.bits,
                        .group_size = w.group_size,
                        .in_features = w.in,
                        .format = w.format,
                        .carry = w.carry,
                        .output = float32};
  if (!w.g_idx.empty()) node.g_idx = {int32, index};
  return gptq::dequantize(node);
}

std::vector<float> run_weight(const Weight& w, const Bytes& qzeros) {
  const auto plan = plan_of(w);
  EXPECT_TRUE(succeeds(plan));
  if (!plan) return {};
  const Bytes x = w.qweight();
  const Bytes scale = w.scales();
  const Bytes index = w.index();
  Bytes y(bytes_for(float32, w.out * w.in));
  Buffers buffers{x, scale, qzeros, y};
  buffers.group_index = index;
  EXPECT_TRUE(succeeds(run(*plan, buffers)));
  std::vector<float> out;
  for (int64_t i = 0; i < w.out * w.in; ++i) out.push_back(float_of(code_at(float32, y, i)));
  return out;
}

void expect_values(const Weight& w) {
  SCOPED_TRACE(w.bits);
  const auto y = run_weight(w, w.qzeros());
  ASSERT_EQ(y.size(), static_cast<size_t>(w.out * w.in));
  for (int64_t o = 0; o < w.out; ++o) {
    for (int64_t i = 0; i < w.in; ++i) {
      const int64_t g = w.group_of(i);
      const auto difference = static_cast<float>(w.code(o, i)) - static_cast<float>(w.zero(g, o));
      ASSERT_EQ(y[static_cast<size_t>(o * w.in + i)], difference * Weight::scale(g, o))
          << o << " " << i;
    }
  }
}

TEST(Gptq, WordsRunDownColumns) {
  for (const int bits : {2, 3, 4, 8}) {
    expect_values({.format = Format::v1, .bits = bits});
    expect_values({.format = Format::v1, .bits = bits, .carry = Carry::word});
    expect_values({.format = Format::v2, .bits = bits});
    expect_values({.format = Format::v1, .bits = bits, .out = 64, .in = 128});
  }
}

TEST(Gptq, PlanesRunDownColumns) {
  for (const int bits : {3, 5, 6, 7}) {
    expect_values({.format = Format::planar, .bits = bits});
    expect_values({.format = Format::planar, .bits = bits, .out = 64, .in = 128});
  }
}

TEST(Gptq, OneGroupMayHaveAllInputs) { expect_values({.group_size = 70}); }

TEST(Gptq, AnIndexHasTheGroupOfEachInput) {
  std::vector<int32_t> index;
  for (int i = 0; i < 70; ++i) index.push_back((i * 11 + 2) % 3);
  for (const int bits : {2, 3, 4, 8}) expect_values({.bits = bits, .g_idx = index});
  expect_values({.format = Format::planar, .bits = 6, .g_idx = index});
}

/// The zero points of the first group, from the scales and the code of input 0.
std::vector<int64_t> zeros_of(const Weight& w, uint32_t word) {
  Bytes qzeros = w.qzeros();
  std::memcpy(qzeros.data(), &word, sizeof(word));
  const auto y = run_weight(w, qzeros);
  std::vector<int64_t> zeros;
  for (int64_t o = 0; o < w.out; ++o) {
    const float code = static_cast<float>(w.code(o, 0));
    zeros.push_back(
        static_cast<int64_t>(code - y[static_cast<size_t>(o * w.in)] / Weight::scale(0, o)));
  }
  return zeros;
}

// 1 is added to 0xF, 3 and 0xF; what is above these is 7 and 0.
TEST(Gptq, ACarryOfAllOnesIsDroppedOrAddedToTheNextZeroPoint) {
  constexpr uint32_t kWord = 0x000'07F3F;
  EXPECT_EQ(zeros_of({.carry = Carry::field}, kWord), (std::vector<int64_t>{0, 4, 0, 8, 1}));
  EXPECT_EQ(zeros_of({.carry = Carry::word}, kWord), (std::vector<int64_t>{0, 5, 0, 9, 1}));
  EXPECT_EQ(zeros_of({.format = Format::v2, .carry = Carry::word}, kWord),
            (std::vector<int64_t>{15, 3, 15, 7, 0}));
}

/// A node of shapes; by default [16, 64] of 4 bits in groups of 32.
struct Shapes {
  Type qweight = {int32, {16, 64}};
  Type qzeros = {int32, {4, 8}};
  Type scales = {float16, {4, 64}};
  std::optional<Type> g_idx = {};
  int64_t bits = 4;
  int64_t group_size = 32;
  int64_t in_features = 0;
  Format format = Format::v1;
  Element output = float16;
};

Result<Plan> plan_of(const Shapes& s) {
  gptq::Dequantize node{.qweight = {s.qweight.element, s.qweight.shape},
                        .qzeros = {s.qzeros.element, s.qzeros.shape},
                        .scales = {s.scales.element, s.scales.shape},
                        .bits = s.bits,
                        .group_size = s.group_size,
                        .in_features = s.in_features,
                        .format = s.format,
                        .output = s.output};
  if (s.g_idx) node.g_idx = {s.g_idx->element, s.g_idx->shape};
  return gptq::dequantize(node);
}

constexpr Rejects<Shapes> rejects;

TEST(GptqShapes, InputsAreThoseThatTheWordsHold) {
  EXPECT_TRUE(succeeds(plan_of(Shapes{})));
  EXPECT_TRUE(succeeds(plan_of({.g_idx = Type{int32, {128}}})));
  EXPECT_TRUE(succeeds(plan_of({.in_features = 127})));
  EXPECT_TRUE(succeeds(plan_of({.g_idx = Type{int32, {121}}})));
  rejects("a word too many", {.in_features = 120},
          "qweight: 16 rows of words where 120 inputs of 4 bits need 15");
  rejects("a word too few", {.g_idx = Type{int32, {129}}}, "129 inputs of 4 bits need 17");
  rejects("two counts", {.g_idx = Type{int32, {128}}, .in_features = 127}, "g_idx: 128 entries");
  rejects("a negative count", {.in_features = -1}, "in_features: -1");
  rejects("no whole codes", {.bits = 3}, "qweight: 16 words hold no whole number of codes");
}

TEST(GptqShapes, GroupsAreThoseOfTheInputs) {
  EXPECT_TRUE(succeeds(
      plan_of({.qzeros = {int32, {1, 8}}, .scales = {float16, {1, 64}}, .group_size = -1})));
  rejects("too few", {.group_size = 16},
          "scales: 4 groups where 128 inputs in groups of 16 need 8");
  rejects("one", {.group_size = -1}, "need 1");
  rejects("no length", {.group_size = 0}, "group_size: 0");
}

TEST(GptqShapes, OutputsAreThoseOfAllTensors) {
  rejects("scales", {.scales = {float16, {4, 32}}},
          "has 32 outputs where qweight, [16, 64], has 64");
  rejects("zero points", {.qzeros = {int32, {4, 9}}},
          "qzeros: shape [4, 9] where 64 zero points of 4 bits for each of 4 groups need [4, 8]");
  rejects("groups of zero points", {.qzeros = {int32, {3, 8}}}, "qzeros: shape [3, 8]");
  rejects("zero points of planes", {.bits = 5, .format = Format::planar}, "qweight: 16 words");
}

TEST(GptqShapes, TypesAndBitsAreThoseOfTheFormat) {
  EXPECT_TRUE(succeeds(plan_of({.qweight = {uint32, {16, 64}}, .scales = {bfloat16, {4, 64}}})));
  rejects("bytes", {.qweight = {uint8, {16, 64}}}, "qweight: element type uint8");
  rejects("zero points of bytes", {.qzeros = {int8, {4, 8}}}, "qzeros: element type int8");
  rejects("no matrix", {.qweight = {int32, {16, 64, 1}}}, "qweight: shape [16, 64, 1]");
  rejects("scales of bytes", {.scales = {uint8, {4, 64}}}, "scales: element type uint8");
  rejects("a list of scales", {.scales = {float16, {64}}}, "scales: shape [64]");
  rejects("a wide index", {.g_idx = Type{uint32, {128}}}, "g_idx: uint32[128]");
  rejects("5 bits", {.bits = 5}, "bits: 5 is not one of 2, 3, 4, 8");
  rejects("planes of 4 bits", {.format = Format::planar}, "bits: 4 is not one of 3, 5, 6, 7");
  rejects("an integer output", {.output = int8}, "output");
}

TEST(GptqShapes, SizesMustNotOverflow) {
  const int64_t many = int64_t{1} << 61;
  rejects("inputs", {.qweight = {int32, {many, 0}}, .scales = {float16, {4, 0}}}, "qweight");
  rejects("outputs", {.qweight = {int32, {0, many}}, .scales = {float16, {0, many}}}, "");
  rejects("a negative size", {.qweight = {int32, {-16, 64}}}, "qweight: shape");
}

}  // namespace
}  // namespace dequant::gptq_test
