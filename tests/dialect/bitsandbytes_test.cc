// Weights of bitsandbytes: the order of codes, short blocks, scales that are quantized themselves,
// the three roundings of LLM.int8, and what is refused.
#include "dequant/bitsandbytes.h"

#include <gtest/gtest.h>

#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packed.h"

namespace dequant::bitsandbytes_test {
namespace {

using namespace testing;
using enum Element;

Bytes floats(const std::vector<float>& numbers) {
  std::vector<uint32_t> codes;
  for (const float number : numbers) codes.push_back(bits_of(number));
  return pack(float32, codes);
}

std::vector<float> counting(int64_t count, float first, float step) {
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(first + static_cast<float>(i) * step);
  return out;
}

struct Weight4Bit {
  Type weight = {uint8, {58, 1}};
  Type absmax = {float32, {2}};
  Type quant_map = {float32, {16}};
  Fixed shape = {5, 23};
  int64_t blocksize = 64;
  Element output = float32;
};

Result<Plan> plan_of(const Weight4Bit& w) {
  return bitsandbytes::dequantize(
      bitsandbytes::Dequantize4Bit{{w.weight.element, w.weight.shape},
                                   {w.absmax.element, w.absmax.shape},
                                   {w.quant_map.element, w.quant_map.shape},
                                   w.shape,
                                   w.blocksize,
                                   w.output});
}

template <class Node>
void rejects(const char* clause, const Node& node, std::string_view word) {
  SCOPED_TRACE(clause);
  EXPECT_TRUE(is_invalid(plan_of(node), word));
}

// 115 codes: the last block is short, and the last low bits are unused.
TEST(Bitsandbytes4Bit, TheFirstCodeOfAByteIsInItsHighBits) {
  const auto plan = plan_of(Weight4Bit{});
  ASSERT_TRUE(succeeds(plan));
  Bytes x;
  for (int i = 0; i < 58; ++i) {
    const int high = 2 * i % 16;
    const int low = i == 57 ? 15 : (2 * i + 1) % 16;
    x.push_back(static_cast<std::byte>(high << 4 | low));
  }
  const Bytes scale = floats({2, 3});
  const Bytes map = floats(counting(16, -4, 0.5F));
  Bytes y(bytes_for(float32, 115));
  Buffers buffers{x, scale, {}, y};
  buffers.codebook = map;
  ASSERT_TRUE(succeeds(run(*plan, buffers)));
  for (int64_t i = 0; i < 115; ++i) {
    const float value = -4 + 0.5F * static_cast<float>(i % 16);
    ASSERT_EQ(float_of(code_at(float32, y, i)), value * (i < 64 ? 2.0F : 3.0F)) << i;
  }
}

TEST(Bitsandbytes4Bit, TheTypeOfTheWeightIsThatOfItsStorage) {
  EXPECT_EQ(plan_of({.weight = {bfloat16, {29, 1}}}).value(), plan_of(Weight4Bit{}).value());
  EXPECT_EQ(plan_of({.weight = {int8, {58}}}).value(), plan_of(Weight4Bit{}).value());
}

TEST(Bitsandbytes4Bit, TensorsFitTheShape) {
  rejects<Weight4Bit>("a byte too few", {.weight = {uint8, {57, 1}}},
                      "has 57 bytes where the codes of [5, 23]");
  rejects<Weight4Bit>("a block too many", {.absmax = {float32, {3}}},
                      "absmax: shape [3] where [2] is needed");
  rejects<Weight4Bit>("nested scales", {.absmax = {uint8, {2}}}, "absmax: element type uint8");
  rejects<Weight4Bit>("a table of 256", {.quant_map = {float32, {256}}}, "quant_map: shape [256]");
  rejects<Weight4Bit>("no block", {.blocksize = 0}, "blocksize: 0");
  rejects<Weight4Bit>("too many elements", {.shape = {int64_t{1} << 40, int64_t{1} << 40}},
                      "do not fit");
  rejects<Weight4Bit>("a negative size", {.shape = {-5, -23}}, "shape");
  rejects<Weight4Bit>("an integer output", {.output = uint8}, "output");
}

struct Absmax {
  Type absmax = {uint8, {300}};
  Type nested_absmax = {float32, {2}};
  Type nested_quant_map = {float32, {256}};
  Type nested_offset = {float32, {1}};
  int64_t nested_blocksize = 256;
};

Result<Plan> plan_of(const Absmax& a) {
  return bitsandbytes::dequantize(
      bitsandbytes::DequantizeAbsmax{{a.absmax.element, a.absmax.shape},
                                     {a.nested_absmax.element, a.nested_absmax.shape},
                                     {a.nested_quant_map.element, a.nested_quant_map.shape},
                                     {a.nested_offset.element, a.nested_offset.shape},
                                     a.nested_blocksize});
}

TEST(BitsandbytesAbsmax, TheOffsetIsAddedToTheRoundedProduct) {
  const auto plan = plan_of(Absmax{});
  ASSERT_TRUE(succeeds(plan));
  Bytes x;
  for (int i = 0; i < 300; ++i) x.push_back(static_cast<std::byte>(i * 7 % 256));
  const auto map = counting(256, -1, 1 / 127.0F);
  const std::vector<float> scales{0.1F, 0.7F};
  constexpr float kOffset = 0.0781F;
  const Bytes scale = floats(scales);
  const Bytes zero = floats({kOffset});
  const Bytes codebook = floats(map);
  Bytes y(bytes_for(float32, 300));
  Buffers buffers{x, scale, zero, y};
  buffers.codebook = codebook;
  ASSERT_TRUE(succeeds(run(*plan, buffers)));
  for (size_t i = 0; i < 300; ++i) {
    const volatile float product = map[i * 7 % 256] * scales[i / 256];
    ASSERT_EQ(float_of(code_at(float32, y, static_cast<int64_t>(i))), product + kOffset) << i;
  }
}

TEST(BitsandbytesAbsmax, TensorsFitOneAnother) {
  rejects<Absmax>("floats", {.absmax = {float32, {300}}},
                  "absmax: float32[300] is not a list of uint8");
  rejects<Absmax>("a matrix", {.absmax = {uint8, {300, 1}}}, "absmax: uint8[300, 1]");
  rejects<Absmax>("a block too few", {.nested_absmax = {float32, {1}}}, "nested_absmax: shape [1]");
  rejects<Absmax>("a table of 16", {.nested_quant_map = {float32, {16}}},
                  "nested_quant_map: shape [16]");
  rejects<Absmax>("two offsets", {.nested_offset = {float32, {2}}}, "nested_offset: float32[2]");
  rejects<Absmax>("no block", {.nested_blocksize = -1}, "nested_blocksize: -1");
}

struct Weight8Bit {
  Type weight = {int8, {2, 256}};
  Type SCB = {float32, {2}};
  Element output = float32;
};

Result<Plan> plan_of(const Weight8Bit& w) {
  return bitsandbytes::dequantize(bitsandbytes::DequantizeInt8{
      {w.weight.element, w.weight.shape}, {w.SCB.element, w.SCB.shape}, w.output});
}

TEST(BitsandbytesInt8, TheProductIsRoundedBeforeTheFactor) {
  const auto plan = plan_of(Weight8Bit{});
  ASSERT_TRUE(succeeds(plan));
  Bytes x;
  for (int i = 0; i < 512; ++i) x.push_back(static_cast<std::byte>(i % 256));
  const std::vector<float> scales{0.37123F, 91.5731F};
  const Bytes scale = floats(scales);
  Bytes y(bytes_for(float32, 512));
  ASSERT_TRUE(succeeds(run(*plan, {x, scale, {}, y})));
  bool differs = false;
  for (size_t i = 0; i < 512; ++i) {
    const auto q = static_cast<float>(static_cast<int8_t>(i % 256));
    const volatile float product = q * scales[i / 256];
    const volatile float factor = scales[i / 256] * 0.007874015718698502F;
    const float want = product * 0.007874015718698502F;
    ASSERT_EQ(float_of(code_at(float32, y, static_cast<int64_t>(i))), want) << i;
    differs |= q * factor != want;
  }
  EXPECT_TRUE(differs) << "the scales do not tell one order from the other";
}

TEST(BitsandbytesInt8, RowsHaveAScaleEach) {
  rejects<Weight8Bit>("columns", {.SCB = {float32, {256}}}, "SCB: shape [256] where [2] is needed");
  rejects<Weight8Bit>("half", {.SCB = {float16, {2}}}, "SCB: element type float16");
  rejects<Weight8Bit>("unsigned", {.weight = {uint8, {2, 256}}}, "weight: uint8[2, 256]");
  rejects<Weight8Bit>("a list", {.weight = {int8, {512}}}, "weight: int8[512]");
  rejects<Weight8Bit>("an integer output", {.output = int8}, "output");
}

}  // namespace
}  // namespace dequant::bitsandbytes_test
