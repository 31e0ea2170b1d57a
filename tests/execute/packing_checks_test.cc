// What run() demands of layouts, codebooks and roundings, and of their buffers; the slices of
// layouts.
#include <gtest/gtest.h>

#include "dequant/plan.h"
#include "plan/strided.h"
#include "support/expect_error.h"
#include "support/strided.h"

namespace dequant::packing_checks_test {
namespace {

using testing::Bytes;
using testing::is_invalid;
using testing::Random;
using testing::random_tensors;
using testing::succeeds;
using testing::Tensors;
using enum Element;
using enum CodeOrder;

/// Parameters of a plan of 16 codes.
Plan with(Parameters p, Element x = uint8) {
  Plan plan{.input = x, .inner = 16};
  plan.has_zero_point = p.zero_point.has_value() || p.zero_point_packing != Packing{};
  plan.parameters = p;
  return plan;
}

void expect_refused(const Plan& plan, std::string_view word) {
  const Bytes input(4096);
  Bytes y(4096, testing::kUntouched);
  EXPECT_TRUE(is_invalid(run(plan, {input, input, input, y}), word));
  EXPECT_TRUE(y == Bytes(4096, testing::kUntouched));
}

void expect_packing_refused(Packing packing, std::string_view word) {
  expect_refused(with({.x_packing = packing}), "parameters.x_packing");
  expect_refused(with({.x_packing = packing}), word);
  expect_refused(with({.zero_point_packing = packing}), "parameters.zero_point_packing");
}

TEST(PackingChecks, ALayoutHasTheBitsAndRowsOfItsOrder) {
  expect_packing_refused({.bits = 3}, ".order: 0 has no bits");
  expect_packing_refused({.order = static_cast<CodeOrder>(8), .bits = 3}, ".order: 8");
  for (const int32_t bits : {INT32_MIN, -1, 0, 9, INT32_MAX}) {
    expect_packing_refused({.order = stream, .bits = bits, .row = 4}, ".bits: no codes of");
  }
  for (const int32_t bits : {1, 2, 4, 8}) {
    expect_packing_refused({.order = planes, .bits = bits, .row = 32}, ".bits: no codes of");
  }
  expect_packing_refused({.order = high_first, .bits = 2}, ".bits: no codes of 2 bits");
  expect_packing_refused({.order = interleaved, .bits = 3, .row = 8}, ".bits: no codes of 3 bits");
  expect_packing_refused({.order = words, .bits = 3}, ".row: 0 codes are none");
  expect_packing_refused({.order = words, .bits = 3, .row = -1}, ".row: -1");
  expect_packing_refused({.order = stream, .bits = 3, .row = INT64_MAX}, "are too many");
  expect_packing_refused({.order = high_first, .bits = 4, .row = 4}, ".row: 4 in an order without");
  expect_packing_refused({.order = slabs, .bits = 3, .row = 4, .columns = 4}, "order without");
  expect_packing_refused({.order = planes, .bits = 3, .row = 40}, "a multiple of 32 codes, not of");
  expect_packing_refused({.order = slabs, .bits = 3}, ".columns: 0");
  expect_packing_refused({.order = stream, .bits = 3, .row = 4, .columns = -1}, ".columns: -1");
  expect_packing_refused({.order = high_first, .bits = 4, .columns = 1}, ".columns: 1");
}

TEST(PackingChecks, ALayoutHoldsAllCodes) {
  expect_refused(with({.x_packing = {.order = slabs, .bits = 4, .columns = 7}}),
                 "x: 16 codes of 4 bits are more than its columns hold");
  expect_refused(with({.x_packing = {.order = slabs, .bits = 3, .columns = 1}}), "columns hold");
  Plan plan = with({.x_packing = {.order = stream, .bits = 3, .row = 4, .columns = 3}});
  expect_refused(plan, "x_packing.columns: 3 of a plan that is not strided");
  plan.granularity = Granularity::strided;
  plan.dimensions = {{.size = 16, .x = 1, .y = 1}};
  expect_refused(plan, "x: 16 codes of 3 bits are more than its columns hold");
  plan = with({.x_packing = {.order = stream, .bits = 8, .row = 4, .columns = INT64_MAX}});
  plan.granularity = Granularity::strided;
  plan.dimensions = {{.size = 16, .x = 1, .y = 1}};
  expect_refused(plan, "columns hold");
  plan = with({.x_packing = {.order = stream, .bits = 8, .row = 1}});
  plan.granularity = Granularity::strided;
  plan.dimensions = {{.size = 2, .x = INT64_MAX / 2, .y = 1}};
  expect_refused(plan, "more than 2^63 - 1 bytes hold");
}

TEST(PackingChecks, OnlyBytesHaveALayout) {
  const Packing packing{.order = stream, .bits = 3, .row = 16};
  for (const Element x : {uint4, int2, uint16, int32, float8e4m3fn, float4e2m1}) {
    expect_refused(with({.x_packing = packing}, x), "only codes of uint8 and int8 have one");
  }
  expect_refused(with({.zero_point = float16, .zero_point_packing = packing}),
                 "zero_point_packing: only codes of uint8 and int8 have one, not of float16");
  Plan none = with({.zero_point_packing = packing});
  none.has_zero_point = false;
  expect_refused(none, "for a plan without zero points");
  expect_refused(
      with({.zero_point_overflow = ZeroPointOverflow::carry, .zero_point_packing = packing}),
      "do not fill words");
}

TEST(PackingChecks, ZeroPointsAfterTheProductAreFloats) {
  using enum ZeroPointRole;
  expect_refused(with({.zero_point = uint8, .zero_point_role = add_after}),
                 "zero_point_role: zero points of uint8 are not added");
  expect_refused(with({.zero_point_role = add_after}), "for a plan without zero points");
  expect_refused(with({.zero_point_role = static_cast<ZeroPointRole>(3)}), "zero_point_role: 3");
  expect_refused(with({.zero_point = float32, .zero_point_role = add_after}, float8e5m2),
                 "float8e5m2 has no zero points of float32");
  expect_refused(with({.zero_point = float32, .zero_point_role = add_after}, int16),
                 "int16 has no zero points of float32");
}

TEST(PackingChecks, RoundingsAreToNarrowTypesThatHoldTheDifference) {
  for (const Element type : {float32, float8e4m3fn, uint8, static_cast<Element>(99)}) {
    expect_refused(with({.scale_rounding = type}), "parameters.scale_rounding");
    expect_refused(with({.result_rounding = type}), "parameters.result_rounding");
  }
  for (const float factor : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    expect_refused(with({.result_factor = factor}), "parameters.result_factor");
  }
  // Up to 256 is exact in bfloat16, up to 2048 in float16.
  const auto zeros = [](Element x, Element zero, int32_t offset, Element rounding) {
    return with({.zero_point = zero, .zero_point_offset = offset, .result_rounding = rounding}, x);
  };
  expect_refused(zeros(uint8, uint8, 2, bfloat16), "bfloat16 does not hold all of x - zero_point");
  expect_refused(zeros(uint8, uint8, 2, bfloat16), "which is up to 257");
  expect_refused(zeros(int8, uint8, 0, bfloat16), "which is up to 383");
  expect_refused(with({.result_rounding = bfloat16}, int16), "which is up to 32768");
  expect_refused(with({.result_rounding = float16}, uint16), "which is up to 65535");
  expect_refused(with({.zero_point = float16, .result_rounding = bfloat16}),
                 "bfloat16 does not hold differences rounded to float16");
  const auto runs = [](const Plan& plan) {
    const Bytes x(64);
    const Bytes scale(4);
    const Bytes zero(4);
    Bytes y(64);
    return run(plan,
               {x, scale, plan.has_zero_point ? std::span(zero) : std::span<const std::byte>(), y});
  };
  EXPECT_TRUE(succeeds(runs(zeros(uint8, uint8, 1, bfloat16))));
  EXPECT_TRUE(succeeds(runs(zeros(int8, uint8, 0, float16))));
  EXPECT_TRUE(succeeds(runs(zeros(int8, int8, 0, bfloat16))));
  EXPECT_TRUE(succeeds(runs(with({.result_rounding = float16}, float8e5m2))));
  EXPECT_TRUE(succeeds(runs(with({.zero_point = float16, .result_rounding = float16}))));
  EXPECT_TRUE(succeeds(runs(with({.zero_point = float32,
                                  .zero_point_role = ZeroPointRole::add_after,
                                  .result_rounding = bfloat16}))));
}

TEST(PackingChecks, ACodebookHasAValueForEachCode) {
  expect_refused(with({.codebook = true}, int8), "codes of int8 are no indices");
  expect_refused(with({.codebook = true}, uint16), "codes of uint16 are no indices");
  expect_refused(with({.codebook = true}, float4e2m1), "codes of float4e2m1 are no indices");
  expect_refused(with({.zero_point = float32, .codebook = true}), "subtracted from indices");
  Plan implicit = with({.codebook = true});
  implicit.implicit_zero_point = 1;
  expect_refused(implicit, "subtracted from indices");
  Plan plan = with({.codebook = true, .x_packing = {.order = slabs, .bits = 3, .columns = 2}});
  ASSERT_EQ(extents(plan), (Extents{.x = 16, .scale = 1, .y = 16, .codebook = 8}));
  Random random(1);
  Tensors t = random_tensors(random, plan, 0);
  ASSERT_TRUE(succeeds(run(plan, t.buffers())));
  Buffers b = t.buffers();
  b.codebook = b.codebook.first(31);
  EXPECT_TRUE(is_invalid(run(plan, b), "codebook: 31 bytes given, 32 needed for 8 elements"));
  b.codebook = {};
  EXPECT_TRUE(is_invalid(run(plan, b), "codebook: null"));
  b.codebook = std::span(t.y).first(32);
  EXPECT_TRUE(is_invalid(run(plan, b), "overlaps codebook"));
  plan.parameters.codebook = false;
  EXPECT_TRUE(is_invalid(run(plan, t.buffers()), "codebook: 32 bytes given for a plan without"));
}

TEST(PackingChecks, BuffersHoldWholeWords) {
  Plan plan = with({.x_packing = {.order = stream, .bits = 5, .row = 8}});
  plan.parameters.zero_point_packing = {.order = words, .bits = 3, .row = 10};
  plan.has_zero_point = true;
  Random random(2);
  Tensors t = random_tensors(random, plan, 0);
  ASSERT_EQ(t.x.size(), 16u);
  ASSERT_EQ(t.zero_point.size(), 4u);
  ASSERT_TRUE(succeeds(run(plan, t.buffers())));
  Buffers b = t.buffers();
  b.x = b.x.first(15);
  EXPECT_TRUE(is_invalid(run(plan, b), "x: 15 bytes given, 16 needed for 16 codes of 5 bits"));
  b = t.buffers();
  b.zero_point = b.zero_point.first(3);
  EXPECT_TRUE(is_invalid(run(plan, b), "zero_point: 3 bytes given, 4 needed for 1 codes of 3"));
}

TEST(PackingChecks, SlicesAreWholeWordsOfTheRowsThatAreNeeded) {
  // Rows of 70 codes of 3 bits: 7 words.
  Plan plan{.input = uint8, .granularity = Granularity::per_axis, .axis = 10, .inner = 70};
  plan.parameters.x_packing = {.order = stream, .bits = 3, .row = 70};
  EXPECT_EQ(x_bytes_of(plan, {0, 700}), (Range{0, 280}));
  EXPECT_EQ(slices_of(plan, {140, 280}).x, (Range{140, 280}));
  EXPECT_EQ(x_bytes_of(plan, {140, 280}), (Range{56, 112}));
  EXPECT_EQ(slices_of(plan, {175, 176}).x, (Range{172, 176})) << "from the last unit of 32 on";
  EXPECT_EQ(x_bytes_of(plan, {172, 176}), (Range{68, 80}));
  plan.parameters.x_packing.order = words;
  EXPECT_EQ(slices_of(plan, {175, 176}).x, (Range{170, 176})) << "ten codes a word";
  EXPECT_EQ(x_bytes_of(plan, {170, 176}), (Range{68, 72}));
  plan.parameters.x_packing = {.order = high_first, .bits = 4};
  EXPECT_EQ(slices_of(plan, {175, 176}).x, (Range{168, 176}));
  EXPECT_EQ(x_bytes_of(plan, {168, 176}), (Range{84, 88}));
  plan.parameters.x_packing = {.order = slabs, .bits = 4, .columns = 350};
  EXPECT_EQ(slices_of(plan, {175, 180}).x, (Range{175, 180}));
  EXPECT_EQ(x_bytes_of(plan, {375, 380}), (Range{25, 30}));
  EXPECT_EQ(x_bytes_of(plan, {340, 360}), (Range{0, 350}));
}

TEST(PackingChecks, SlicesOfWordsDownColumnsAreAllOfX) {
  Plan types{.input = uint8, .has_zero_point = true};
  types.parameters.x_packing = {.order = planes, .bits = 5, .row = 64, .columns = 24};
  types.parameters.zero_point_packing = {.order = stream, .bits = 5, .row = 20, .columns = 2};
  const auto plan = strided_plan(types, {{20, 64, 2, 1, 64}, {64, 1, 1, 20, 1, 32}});
  ASSERT_TRUE(succeeds(plan));
  EXPECT_EQ(plan->granularity, Granularity::strided);
  const Slices s = slices_of(*plan, {64, 128});
  EXPECT_EQ(s.x, (Range{0, 1280}));
  EXPECT_EQ(x_bytes_of(*plan, s.x), (Range{0, 10 * 24 * 4}));
  EXPECT_EQ(s.scale, (Range{0, 4}));
  EXPECT_EQ(s.zero_point, (Range{0, 40}));
  EXPECT_EQ(zero_point_bytes_of(*plan, s.zero_point), (Range{0, 4 * 2 * 4}));
}

TEST(PackingChecks, AreToldInOneLine) {
  Plan plan{.input = uint8, .scale = bfloat16, .has_zero_point = true, .inner = 3};
  plan.parameters = {.zero_point = bfloat16,
                     .zero_point_role = ZeroPointRole::add_after,
                     .scale_rounding = float16,
                     .result_rounding = bfloat16,
                     .result_factor = 0.5,
                     .x_packing = {.order = stream, .bits = 3, .row = 3}};
  EXPECT_EQ(to_string(plan),
            "uint8[1, 1, 3] of 3 bits in streams per tensor, bfloat16 scale rounded to float16, "
            "bfloat16 zero point added after, times 0.5, rounded to bfloat16 -> float32");
  plan = {.input = uint8, .has_zero_point = true, .inner = 3};
  plan.parameters = {.zero_point_offset = 1,
                     .x_packing = {.order = high_first, .bits = 4},
                     .zero_point_packing = {.order = planes, .bits = 5, .row = 32, .columns = 2}};
  EXPECT_EQ(to_string(plan),
            "uint8[1, 1, 3] of 4 bits, high first per tensor, float32 scale, "
            "zero point of 5 bits in planes down columns +1 -> float32");
  plan = {.input = uint4, .inner = 3};
  plan.parameters.codebook = true;
  EXPECT_EQ(to_string(plan), "uint4[1, 1, 3] by codebook per tensor, float32 scale -> float32");
}

}  // namespace
}  // namespace dequant::packing_checks_test
