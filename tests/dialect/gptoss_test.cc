// Experts of gpt-oss: the place of each code and of each scale, plain and transposed.
#include "dequant/gptoss.h"

#include <gtest/gtest.h>

#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packed.h"

namespace dequant::gptoss_test {
namespace {

using namespace testing;
using enum Element;

struct Experts {
  Type blocks = {uint8, {2, 3, 2, 16}};
  Type scales = {uint8, {2, 3, 2}};
  bool transposed = false;
  Element output = float32;
};

Result<Plan> plan_of(const Experts& e) {
  return gptoss::dequantize({{e.blocks.element, e.blocks.shape},
                             {e.scales.element, e.scales.shape},
                             e.transposed,
                             e.output});
}

constexpr Rejects<Experts> rejects;

/// The value of row `row` and column `column` of expert `expert`: the low nibble of each byte is 1,
/// the high one 1.5, and scale i is 2^i.
float value(int64_t expert, int64_t row, int64_t column) {
  const int64_t scale = (expert * 3 + row) * 2 + column / 32;
  return (column % 2 == 0 ? 1.0F : 1.5F) * static_cast<float>(int64_t{1} << scale);
}

Bytes run_experts(const Experts& e) {
  const auto plan = plan_of(e);
  EXPECT_TRUE(succeeds(plan));
  if (!plan) return {};
  const Bytes x(2 * 3 * 2 * 16, std::byte{0x32});
  Bytes scale;
  for (int i = 0; i < 2 * 3 * 2; ++i) scale.push_back(static_cast<std::byte>(127 + i));
  Bytes y(bytes_for(float32, 2 * 3 * 64));
  EXPECT_TRUE(succeeds(run(*plan, {x, scale, {}, y})));
  return y;
}

TEST(GptOss, RowsOfOpenAiStayRows) {
  const Bytes y = run_experts({});
  for (int64_t i = 0; i < 2 * 3 * 64; ++i) {
    ASSERT_EQ(float_of(code_at(float32, y, i)), value(i / 192, i / 64 % 3, i % 64)) << i;
  }
}

TEST(GptOss, RowsOfTransformersBecomeColumns) {
  const Bytes y = run_experts({.transposed = true});
  for (int64_t i = 0; i < 2 * 3 * 64; ++i) {
    ASSERT_EQ(float_of(code_at(float32, y, i)), value(i / 192, i % 3, i / 3 % 64)) << i;
  }
}

TEST(GptOss, ScalesAreBytes) {
  EXPECT_TRUE(succeeds(plan_of({.scales = {float8e8m0, {2, 3, 2}}})));
  rejects("floats", {.scales = {float32, {2, 3, 2}}}, "scales: element type float32");
  rejects("signed blocks", {.blocks = {int8, {2, 3, 2, 16}}}, "blocks: element type int8");
  rejects("an integer output", {.output = uint8}, "output: element type uint8");
}

TEST(GptOss, ShapesAreThoseOfWholeBlocks) {
  EXPECT_TRUE(succeeds(plan_of({.blocks = {uint8, {3, 2, 16}}, .scales = {uint8, {3, 2}}})));
  EXPECT_TRUE(succeeds(plan_of(
      {.blocks = {uint8, {0, 3, 2, 16}}, .scales = {uint8, {0, 3, 2}}, .transposed = true})));
  rejects("rank 2", {.blocks = {uint8, {2, 16}}, .scales = {uint8, {2}}}, "has rank 2");
  rejects("no bytes of a block", {.blocks = {uint8, {2, 3, 2, 32}}}, "is not 16 bytes");
  rejects("scales of other groups", {.scales = {uint8, {2, 3, 4}}},
          "scales: shape [2, 3, 4] where blocks of [2, 3, 2, 16] need [2, 3, 2]");
  rejects("scales of another rank", {.scales = {uint8, {2, 3, 2, 1}}}, "scales: shape");
  const int64_t many = int64_t{1} << 40;
  rejects("too many elements",
          {.blocks = {uint8, {many, many, 2, 16}}, .scales = {uint8, {many, many, 2}}},
          "do not fit in 64 bits");
  rejects("too many columns",
          {.blocks = {uint8, {1, 1, INT64_MAX / 2, 16}}, .scales = {uint8, {1, 1, INT64_MAX / 2}}},
          "do not fit in 64 bits");
}

}  // namespace
}  // namespace dequant::gptoss_test
