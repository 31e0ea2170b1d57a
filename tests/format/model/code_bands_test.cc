// Bands of tensors whose codes lie in another order than their floats. What they compute is
// tested with whole checkpoints, in tests/python/test_checkpoints_bands.py.
#include "format/model/code_bands.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dequant/awq.h"
#include "dequant/gptoss.h"
#include "dequant/gptq.h"

namespace dequant::format {
namespace {

struct Matrix {
  std::vector<int64_t> codes;
  std::vector<int64_t> scales;
  std::vector<int64_t> zeros;
};

Plan gptq_plan(int64_t bits, int64_t in, int64_t out) {
  const Matrix m{{in * bits / 32, out}, {in / 32, out}, {in / 32, (out * bits + 31) / 32}};
  return *gptq::dequantize({.qweight = {Element::int32, m.codes},
                            .qzeros = {Element::int32, m.zeros},
                            .scales = {Element::float16, m.scales},
                            .bits = bits,
                            .group_size = 32});
}

Plan awq_plan(int64_t in, int64_t out) {
  const Matrix m{{in, out / 8}, {in / 32, out}, {in / 32, out / 8}};
  return *awq::dequantize({.qweight = {Element::int32, m.codes},
                           .qzeros = {Element::int32, m.zeros},
                           .scales = {Element::float16, m.scales},
                           .group_size = 32});
}

Plan gptoss_plan(int64_t experts, int64_t rows, int64_t groups) {
  const std::vector<int64_t> blocks{experts, rows, groups, 16};
  const std::vector<int64_t> scales{experts, rows, groups};
  return *gptoss::dequantize(
      {.blocks = {Element::uint8, blocks}, .scales = {Element::uint8, scales}, .transposed = true});
}

/// A matrix [inputs, outputs] of codes that lie [outputs, inputs], with a scale and a zero point
/// for each 32 inputs, as of MatMulNBits: the rows of zero points end with a byte.
Plan transposed_plan(Element x, int64_t inputs, int64_t outputs) {
  const int64_t groups = inputs / 32;
  const int64_t in_byte = 8 / bits(x);
  const int64_t padded = (groups + in_byte - 1) / in_byte * in_byte;
  Plan plan;
  plan.input = x;
  plan.granularity = Granularity::strided;
  plan.dimensions = {{inputs, 1, 1, 1, outputs, 32}, {outputs, inputs, groups, padded, 1, 1}};
  plan.has_zero_point = true;
  return plan;
}

/// The bands follow one another, and each has at most `most` bytes of codes; all have those of the
/// tensor together.
void expect_bands(const Plan& plan, int64_t most, int64_t least_count) {
  const auto bands = CodeBands::of(plan, most);
  ASSERT_TRUE(bands.has_value());
  int64_t next = 0;
  int64_t bytes = 0;
  int64_t count = 0;
  const auto status = bands->for_each([&](const CodeBand& band) -> Status {
    EXPECT_EQ(band.elements.begin, next);
    EXPECT_EQ(element_count(band.plan), band.elements.end - band.elements.begin);
    EXPECT_LE(band.codes.bytes(), most);
    EXPECT_GE(band.codes.bytes(), x_bytes_of(band.plan, {0, extents(band.plan).x}).end);
    next = band.elements.end;
    bytes += band.codes.bytes();
    ++count;
    return {};
  });
  EXPECT_TRUE(status);
  EXPECT_EQ(next, element_count(plan));
  EXPECT_EQ(bytes, x_bytes_of(plan, {0, extents(plan).x}).end);
  EXPECT_GE(count, least_count);
}

TEST(CodeBandsTest, BandsOfColumnsOfWords) { expect_bands(gptq_plan(4, 512, 480), 1 << 14, 8); }

TEST(CodeBandsTest, BandsOfInterleavedWords) { expect_bands(awq_plan(512, 488), 1 << 14, 8); }

TEST(CodeBandsTest, BandsOfOneExpertOrOfPartsOfIt) {
  expect_bands(gptoss_plan(6, 64, 4), 1 << 12, 6);
  expect_bands(gptoss_plan(6, 64, 4), 1 << 11, 12);
}

TEST(CodeBandsTest, AWholeTensorIsOneBand) { expect_bands(awq_plan(512, 488), 1 << 20, 1); }

TEST(CodeBandsTest, RowsThatDoNotFitAreNoBand) {
  EXPECT_FALSE(CodeBands::of(awq_plan(512, 488), 512 * 16 - 1).has_value());
  EXPECT_TRUE(CodeBands::of(awq_plan(512, 488), 512 * 16).has_value());
}

TEST(CodeBandsTest, ZeroPointsThatBeginWithinAWordAreNotCut) {
  EXPECT_TRUE(CodeBands::of(gptq_plan(3, 512, 480), 1 << 14).has_value());
  EXPECT_FALSE(CodeBands::of(gptq_plan(3, 512, 488), 1 << 14).has_value());
}

TEST(CodeBandsTest, BandsWhoseZeroPointsBegunWithinAByteWereLeftOut) {
  constexpr int64_t kInputs = 4096, kOutputs = 67;
  for (const Element x : {Element::uint2, Element::uint4, Element::uint8}) {
    const Plan plan = transposed_plan(x, kInputs, kOutputs);
    const int64_t all = kInputs * kOutputs * bits(x) / 8;
    for (int64_t most = all / 16; most <= all; most += all / 37) {
      SCOPED_TRACE(fmt::format("{} in {} bytes", name(x), most));
      expect_bands(plan, most, (all + most - 1) / most);
      const auto bands = CodeBands::of(plan, most);
      const auto status = bands->for_each([&](const CodeBand& band) -> Status {
        const int64_t first = band.elements.begin / kOutputs / 32;
        EXPECT_EQ(band.zero_point.begin * 8, first * bits(x));
        EXPECT_EQ(band.scale.begin * 8, first * bits(plan.scale));
        return {};
      });
      EXPECT_TRUE(status);
    }
  }
}

TEST(CodeBandsTest, TheErrorOfACallEndsIt) {
  const auto bands = CodeBands::of(awq_plan(512, 488), 1 << 14);
  ASSERT_TRUE(bands.has_value());
  int calls = 0;
  const auto status = bands->for_each([&](const CodeBand&) -> Status {
    ++calls;
    return Error{ErrorCode::io, "no"};
  });
  EXPECT_FALSE(status);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace dequant::format
