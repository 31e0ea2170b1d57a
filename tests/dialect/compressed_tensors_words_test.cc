// Packed weights of compressed-tensors: the place of each code and zero point for every width, both
// ways to fill words, and what is refused.
#include <gtest/gtest.h>

#include "dequant/compressed_tensors.h"
#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/words.h"

namespace dequant::compressed_tensors_words_test {
namespace {

using namespace testing;
using enum Element;
using compressed_tensors::Strategy;
using compressed_tensors::Words;

enum class Zeros { none, words, bytes };

/// A weight of 5 rows and 70 columns: neither fills words, and the last of its groups of 32 is
/// short.
struct Weight {
  int bits = 4;
  Words words = Words::dense;
  Zeros zeros = Zeros::none;
  Strategy strategy = Strategy::group;
  std::vector<int32_t> g_idx = {};
  int64_t rows = 5;
  int64_t columns = 70;

  int64_t group_size() const { return strategy == Strategy::group ? 32 : columns; }
  int64_t groups() const { return (columns + group_size() - 1) / group_size(); }
  int64_t group_of(int64_t c) const {
    return g_idx.empty() ? c / group_size() : g_idx[static_cast<size_t>(c)];
  }
  uint32_t mask() const { return (1u << bits) - 1; }
  uint32_t code(int64_t r, int64_t c) const {
    return static_cast<uint32_t>(7 * r + 3 * c) & mask();
  }
  /// Without the 2^(bits - 1) that codes and packed zero points have on top.
  int32_t zero(int64_t r, int64_t g) const {
    const auto any = static_cast<uint32_t>(5 * g + r) & mask();
    return zeros == Zeros::none ? 0 : static_cast<int32_t>(any) - (1 << (bits - 1));
  }
  float scale(int64_t r, int64_t g) const {
    return strategy == Strategy::tensor ? 3.0F : static_cast<float>(1 + 8 * g + r);
  }

  int64_t words_of(int64_t codes) const {
    const int64_t per_word = 32 / bits;
    return words == Words::dense ? (codes * bits + 31) / 32 : (codes + per_word - 1) / per_word;
  }
  /// Bit b of code k of a row of codes, counted over the words of the row.
  int64_t bit(int64_t k, int b) const {
    const int64_t per_word = 32 / bits;
    return words == Words::dense ? k * bits + b : k / per_word * 32 + k % per_word * bits + b;
  }

  Bytes weight_packed() const {
    WordMatrix m(rows, words_of(columns));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        for (int b = 0; b < bits; ++b) m.put(r, bit(c, b) / 32, bit(c, b) % 32, code(r, c), b);
      }
    }
    return m.bytes();
  }
  Bytes weight_zero_point() const {
    WordMatrix m(words_of(rows), groups());
    std::vector<uint32_t> bytes;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t g = 0; g < groups(); ++g) {
        bytes.push_back(static_cast<uint32_t>(zero(r, g)) & 0xFF);
        const auto stored = static_cast<uint32_t>(zero(r, g) + (1 << (bits - 1)));
        for (int b = 0; b < bits; ++b) m.put(bit(r, b) / 32, g, bit(r, b) % 32, stored, b);
      }
    }
    if (zeros == Zeros::none) return {};
    return zeros == Zeros::bytes ? pack(int8, bytes) : m.bytes();
  }
  Bytes weight_scale() const {
    std::vector<uint32_t> codes;
    for (int64_t r = 0; r < (strategy == Strategy::tensor ? 1 : rows); ++r) {
      for (int64_t g = 0; g < groups(); ++g) codes.push_back(bits_of(scale(r, g)));
    }
    return pack(float32, codes);
  }
};

/// A node that owns its shapes; by default that of a Weight.
struct Shapes {
  Type weight = {int32, {5, 9}};
  Type scale = {float32, {5, 3}};
  std::optional<Type> zero = {};
  std::optional<Type> global = {};
  std::optional<Type> g_idx = {};
  Fixed shape = {5, 70};
  int64_t bits = 4;
  Strategy strategy = Strategy::group;
  int64_t group_size = 32;
  std::optional<Words> words = {};
  Element output = float32;
};

Result<Plan> plan_of(const Shapes& s) {
  compressed_tensors::Dequantize node{.weight = {s.weight.element, s.weight.shape},
                                      .weight_scale = {s.scale.element, s.scale.shape},
                                      .weight_shape = s.shape,
                                      .num_bits = s.bits,
                                      .strategy = s.strategy,
                                      .group_size = s.group_size,
                                      .words = s.words,
                                      .output = s.output};
  if (s.zero) node.weight_zero_point = {s.zero->element, s.zero->shape};
  if (s.global) node.weight_global_scale = {s.global->element, s.global->shape};
  if (s.g_idx) node.weight_g_idx = {s.g_idx->element, s.g_idx->shape};
  return compressed_tensors::dequantize(node);
}

Shapes shapes_of(const Weight& w) {
  Shapes s{.weight = {int32, {w.rows, w.words_of(w.columns)}},
           .scale = {float32, {w.rows, w.groups()}},
           .shape = {w.rows, w.columns},
           .bits = w.bits,
           .strategy = w.strategy,
           .words = w.words};
  if (w.strategy == Strategy::tensor) s.scale.shape = {1};
  if (w.zeros == Zeros::words) s.zero = Type{int32, {w.words_of(w.rows), w.groups()}};
  if (w.zeros == Zeros::bytes) s.zero = Type{int8, s.scale.shape};
  if (!w.g_idx.empty()) s.g_idx = Type{int32, {w.columns}};
  return s;
}

void expect_values(const Weight& w) {
  SCOPED_TRACE(w.bits);
  const auto plan = plan_of(shapes_of(w));
  ASSERT_TRUE(succeeds(plan));
  const Bytes x = w.weight_packed();
  const Bytes scale = w.weight_scale();
  const Bytes zero = w.weight_zero_point();
  const Bytes index = pack(int32, {w.g_idx.begin(), w.g_idx.end()});
  Bytes y(bytes_for(float32, w.rows * w.columns));
  Buffers buffers{x, scale, zero, y};
  buffers.group_index = index;
  ASSERT_TRUE(succeeds(run(*plan, buffers)));
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t c = 0; c < w.columns; ++c) {
      const int64_t g = w.group_of(c);
      const int32_t code = static_cast<int32_t>(w.code(r, c)) - (1 << (w.bits - 1));
      ASSERT_EQ(float_of(code_at(float32, y, r * w.columns + c)),
                static_cast<float>(code - w.zero(r, g)) * w.scale(r, g))
          << r << " " << c;
    }
  }
}

TEST(PackedWeights, CodesAndZeroPointsFillWords) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const Words words : {Words::padded, Words::dense}) {
      for (const Zeros zeros : {Zeros::none, Zeros::words, Zeros::bytes}) {
        expect_values({.bits = bits, .words = words, .zeros = zeros});
        expect_values(
            {.bits = bits, .words = words, .zeros = zeros, .strategy = Strategy::channel});
        expect_values({.bits = bits, .words = words, .zeros = zeros, .rows = 64, .columns = 128});
      }
    }
  }
}

TEST(PackedWeights, OneScaleMayBeForAll) {
  expect_values({.strategy = Strategy::tensor});
  const Weight w{.zeros = Zeros::bytes, .strategy = Strategy::tensor};
  EXPECT_TRUE(succeeds(plan_of(shapes_of(w))));
}

TEST(PackedWeights, AnIndexHasTheGroupOfEachColumn) {
  std::vector<int32_t> index;
  for (int i = 0; i < 70; ++i) index.push_back((i * 11 + 2) % 3);
  for (const Zeros zeros : {Zeros::none, Zeros::words, Zeros::bytes}) {
    for (const int bits : {3, 4, 8}) expect_values({.bits = bits, .zeros = zeros, .g_idx = index});
  }
}

constexpr Rejects<Shapes> rejects;

// 70 codes of 5 and of 7 bits need more words if these are padded; of 3 and 6 bits as many.
TEST(PackedWeights, TheNumberOfWordsSaysHowTheseAreFilledWhereItCan) {
  for (const int bits : {5, 7}) {
    for (const Words words : {Words::padded, Words::dense}) {
      Shapes s = shapes_of({.bits = bits, .words = words});
      s.words.reset();
      const auto plan = plan_of(s);
      ASSERT_TRUE(succeeds(plan)) << bits;
      EXPECT_EQ(plan->parameters.x_packing.order,
                words == Words::dense ? CodeOrder::stream : CodeOrder::words);
    }
  }
  for (const int bits : {3, 6}) {
    Shapes s = shapes_of({.bits = bits});
    s.words.reset();
    EXPECT_TRUE(fails(plan_of(s), ErrorCode::unsupported, "or dense (from 0.18.0 on)")) << bits;
  }
  for (const int bits : {1, 2, 4, 8}) {
    Shapes s = shapes_of({.bits = bits, .zeros = Zeros::words});
    s.words.reset();
    EXPECT_TRUE(succeeds(plan_of(s))) << bits;
  }
}

// Of 28 columns both ways have 7 words, but 28 rows of zero points have them only if padded.
TEST(PackedWeights, ZeroPointsFillWordsAsCodesDo) {
  Shapes s{.weight = {int32, {31, 7}},
           .scale = {float32, {31, 1}},
           .zero = Type{int32, {8, 1}},
           .shape = {31, 28},
           .bits = 7};
  const auto padded = plan_of(s);
  ASSERT_TRUE(succeeds(padded));
  EXPECT_EQ(padded->parameters.x_packing.order, CodeOrder::words);
  s.zero = Type{int32, {7, 1}};
  const auto dense = plan_of(s);
  ASSERT_TRUE(succeeds(dense));
  EXPECT_EQ(dense->parameters.x_packing.order, CodeOrder::stream);
  s.zero = Type{int32, {6, 1}};
  rejects("neither", s, "7 words a row and 6 of zero points do not hold 7-bit codes of [31, 28]");
}

TEST(PackedWeights, ShapesAreThoseOfTheWeight) {
  EXPECT_TRUE(succeeds(plan_of({})));
  rejects("words", {.weight = {int32, {5, 8}}}, "8 words a row do not hold 4-bit codes of [5, 70]");
  rejects("rows", {.weight = {int32, {6, 9}}},
          "weight_shape: [5, 70] is not the shape of a matrix");
  rejects("no shape", {.shape = {}}, "weight_shape");
  rejects("a negative shape", {.shape = {5, -70}}, "weight_shape");
  rejects("too large", {.shape = {5, INT64_MAX}}, "weight_shape");
  rejects("bytes", {.weight = {uint8, {5, 36}}}, "weight_packed: uint8[5, 36] is not int32");
  rejects("0 bits", {.bits = 0}, "num_bits: 0 is not 1 to 8");
  rejects("9 bits", {.bits = 9}, "num_bits: 9");
  rejects("groups", {.scale = {float32, {5, 2}}}, "needs [5, 3]");
  rejects("no group size", {.group_size = 0}, "group_size: there is none");
  rejects("a negative group size", {.group_size = -1}, "group_size: -1 is less than 1");
  rejects("blocks", {.strategy = Strategy::block}, "strategy: \"block\"");
  rejects("a scale of bytes", {.scale = {uint8, {5, 3}}}, "weight_scale: element type uint8");
  rejects("a global scale", {.global = Type{float32, {1}}}, "weight_global_scale");
  rejects("an integer output", {.output = int8}, "output");
}

TEST(PackedWeights, ZeroPointsAndIndicesHaveTheirShapes) {
  rejects("bytes", {.zero = Type{int8, {5, 2}}}, "weight_zero_point: shape [5, 2]");
  rejects("words", {.zero = Type{int32, {2, 3}}}, "2 of zero points do not hold");
  rejects("groups", {.zero = Type{int32, {1, 2}}}, "int32 with a column for each group");
  rejects("a vector", {.zero = Type{int32, {1}}}, "is not that of a matrix");
  rejects("unsigned bytes", {.zero = Type{uint8, {5, 3}}}, "uint8[5, 3] is neither int8");
  rejects("words of one",
          {.scale = {float32, {1}}, .zero = Type{int32, {1, 1}}, .strategy = Strategy::tensor},
          "weight_zero_point: int32[1, 1]");
  rejects("an index of rows", {.g_idx = Type{int32, {5}}}, "weight_g_idx: int32[5]");
  rejects("an index of floats", {.g_idx = Type{float32, {70}}}, "is not int32 [70]");
  rejects("an index of channels",
          {.scale = {float32, {5, 1}}, .g_idx = Type{int32, {70}}, .strategy = Strategy::channel},
          "weight_g_idx: only strategy \"group\" has groups");
}

}  // namespace
}  // namespace dequant::compressed_tensors_words_test
