// Layouts of codes that the fast kernels take, and that these give the bits of run().
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "cuda/fast_cases.h"

namespace dequant::cuda_fast_layouts_test {
namespace {

using testing::Aligned;
using testing::Dimensions;
using testing::expect_fast;
using testing::is_fast;
using testing::Random;
using testing::same_on_device;
using testing::Tensors;
using enum Element;

constexpr std::array kOutputs{float32, float16, bfloat16};
constexpr int64_t kRows = 16;
constexpr int64_t kColumns = 256;

/// Blocks of 32 columns.
const Dimensions kBlocks{{kRows, kColumns, kColumns / 32, kColumns / 32, kColumns},
                         {kColumns, 1, 1, 1, 1, 32}};
/// Blocks of columns for all rows.
const Dimensions kShared{{kRows, kColumns, 0, 0, kColumns}, {kColumns, 1, 1, 1, 1, 16}};
const Dimensions kOne{{kRows * kColumns, 1, 0, 0, 1}};

/// Signed and unsigned codes, and those with float zero points.
void expect_fast_codes(const Packing& packing, const Dimensions& dimensions, Random& random) {
  for (const Element output : kOutputs) {
    for (const Element x : {uint8, int8}) {
      Plan plan{.input = x, .output = output, .has_zero_point = random.coin()};
      plan.parameters.x_packing = packing;
      ASSERT_NO_FATAL_FAILURE(expect_fast(plan, dimensions, random));
    }
    Plan plan{.input = uint8, .output = output, .has_zero_point = true};
    plan.parameters.x_packing = packing;
    plan.parameters.zero_point = float16;
    plan.parameters.zero_point_role = ZeroPointRole::add_after;
    ASSERT_NO_FATAL_FAILURE(expect_fast(plan, dimensions, random));
  }
}

TEST(CudaFastLayouts, TakeRowsOfWords) {
  Random random(301);
  for (const CodeOrder order : {CodeOrder::stream, CodeOrder::words, CodeOrder::planes}) {
    for (int bits = 1; bits <= 7; ++bits) {
      const bool has_planes = bits == 3 || bits >= 5;
      if (order == CodeOrder::planes && !has_planes) continue;
      for (const auto& dimensions : {kBlocks, kShared, kOne}) {
        ASSERT_NO_FATAL_FAILURE(
            expect_fast_codes({.order = order, .bits = bits, .row = kColumns}, dimensions, random));
      }
    }
  }
}

/// Rows that end within a word, and those that go on beyond the elements of a row.
TEST(CudaFastLayouts, TakeRowsOfWordsThatArePadded) {
  Random random(302);
  for (const CodeOrder order : {CodeOrder::stream, CodeOrder::words}) {
    for (const int bits : {3, 5, 6, 7}) {
      ASSERT_NO_FATAL_FAILURE(expect_fast_codes({.order = order, .bits = bits, .row = 40},
                                                {{kRows, 40, 1, 1, 40}, {40, 1, 0, 0, 1}}, random));
      ASSERT_NO_FATAL_FAILURE(expect_fast_codes({.order = order, .bits = bits, .row = 72},
                                                {{kRows, 72, 1, 1, 40}, {40, 1, 0, 0, 1}}, random));
    }
  }
}

/// GPTQ's and EXL2's rows, which run down columns.
TEST(CudaFastLayouts, TakeRowsOfWordsThatRunDownColumns) {
  Random random(303);
  for (const CodeOrder order : {CodeOrder::stream, CodeOrder::words, CodeOrder::planes}) {
    for (const int bits : {3, 5, 6, 7, 8}) {
      if (bits == 8 && order == CodeOrder::planes) continue;
      ASSERT_NO_FATAL_FAILURE(
          expect_fast_codes({.order = order, .bits = bits, .row = kColumns, .columns = kRows},
                            {{kRows, kColumns, 1, 1, kColumns},
                             {kColumns / 32, 32, kRows, kRows, 32},
                             {32, 1, 0, 0, 1}},
                            random));
    }
  }
}

/// HQQ: the first of these slabs are whole vectors, others begin anywhere.
TEST(CudaFastLayouts, TakeSlabs) {
  Random random(304);
  for (const CodeOrder order : {CodeOrder::slabs, CodeOrder::slabs_high_first}) {
    for (int bits = 1; bits <= 8; ++bits) {
      const int64_t in_word = (8 % bits == 0 ? 8 : 32) / bits;
      const int64_t words = (kRows * kColumns + in_word - 1) / in_word;
      for (const int64_t columns : {(words + 7) / 8 * 8, words, words + 3}) {
        ASSERT_NO_FATAL_FAILURE(
            expect_fast_codes({.order = order, .bits = bits, .columns = columns}, kBlocks, random));
      }
    }
  }
}

TEST(CudaFastLayouts, TakeFloatsOfSixBits) {
  Random random(305);
  const std::array dimensions{
      kOne,
      kBlocks,
      kShared,
      Dimensions{{kRows, kColumns, 0, 0, kColumns}, {kColumns, 1, 1, 1, 1}},
      Dimensions{{kRows, kColumns, kColumns, 0, kColumns}, {kColumns, 1, 1, 1, 1}},
      Dimensions{{kRows, kColumns + 8, 1, 0, kColumns}, {kColumns, 1, 0, 0, 1}}};
  for (const Element output : kOutputs) {
    for (const Element x : {float6e2m3, float6e3m2}) {
      for (const Dimensions& d : dimensions) {
        ASSERT_NO_FATAL_FAILURE(expect_fast({.input = x, .output = output}, d, random));
      }
    }
  }
}

/// ModelOpt: a byte has the codes of two rows, or of four.
TEST(CudaFastLayouts, TakeBytesOfSeveralRows) {
  Random random(306);
  for (const Element output : kOutputs) {
    for (const Element x : {int4, uint4, int2, uint2}) {
      const int64_t in_byte = 8 / bits(x);
      for (const int64_t padding : {0, 8, 3}) {
        const int64_t row = kColumns + padding;
        ASSERT_NO_FATAL_FAILURE(expect_fast({.input = x, .output = output},
                                            {{kRows, in_byte * row, in_byte, 0, in_byte * kColumns},
                                             {in_byte, 1, 1, 0, kColumns},
                                             {kColumns, in_byte, 0, 0, 1}},
                                            random));
      }
    }
  }
}

/// Words that run down columns and are neither a vector nor two: rows whose codes go on in the next
/// column within a word, and a word with parameters of two groups.
TEST(CudaFastLayouts, TakeVectorsOfPartsOfWords) {
  Random random(309);
  const Packing parts{.order = CodeOrder::stream, .bits = 4, .row = 24, .columns = 8};
  const Packing words{.order = CodeOrder::stream, .bits = 4, .row = 252, .columns = kRows};
  for (const Element x : {uint8, int8}) {
    Plan plan{.input = x, .output = bfloat16};
    plan.parameters.x_packing = parts;
    ASSERT_NO_FATAL_FAILURE(expect_fast(plan, {{12, 16, 0, 0, 16}, {16, 1, 0, 0, 1}}, random));
    plan.output = float32;
    plan.parameters.x_packing = words;
    ASSERT_NO_FATAL_FAILURE(
        expect_fast(plan, {{kRows, 252, 1, 0, 252}, {252, 1, kRows, 0, 1, 12}}, random));
  }
}

/// compressed-tensors: zero points run down columns. GPTQ: they are rows of other widths.
TEST(CudaFastLayouts, TakeZeroPointsOfPackings) {
  Random random(310);
  for (const CodeOrder order : {CodeOrder::stream, CodeOrder::words}) {
    for (int bits = 1; bits <= 8; ++bits) {
      for (const int64_t columns : {int64_t{0}, kColumns / 32}) {
        Plan plan{.input = uint8, .output = random.of(kOutputs), .has_zero_point = true};
        plan.parameters.x_packing = {.order = CodeOrder::stream, .bits = bits, .row = kColumns};
        plan.parameters.zero_point_packing = {
            .order = order, .bits = bits, .row = kRows, .columns = columns};
        plan.parameters.zero_point_offset = static_cast<int32_t>(random.in(-2, 2));
        plan.parameters.zero_point_overflow =
            random.coin() ? ZeroPointOverflow::keep : ZeroPointOverflow::wrap;
        ASSERT_NO_FATAL_FAILURE(expect_fast(plan,
                                            {{kRows, kColumns, kColumns / 32, 1, kColumns},
                                             {kColumns / 32, 32, 1, kRows, 32},
                                             {32, 1, 0, 0, 1}},
                                            random));
      }
    }
  }
}

/// GPTQ: words down the columns, in groups of 64 columns or, with act-order, in any groups.
Plan gptq(Element output, Element scale, int bits, int64_t rows, bool act_order) {
  Plan plan{.input = uint8, .scale = scale, .output = output, .has_zero_point = true};
  plan.granularity = Granularity::strided;
  plan.parameters.x_packing = {
      .order = CodeOrder::stream, .bits = bits, .row = kColumns, .columns = rows};
  plan.parameters.zero_point_packing = {.order = CodeOrder::stream, .bits = bits, .row = rows};
  plan.parameters.zero_point_offset = 1;
  if (act_order) {
    plan.dimensions = {{rows, kColumns, 1, 1, kColumns}, {kColumns, 1, 0, 0, 1, 1, 1}};
    plan.parameters.group_index = {.groups = 6, .scale = rows, .zero_point = rows};
  } else {
    plan.dimensions = {{rows, kColumns, 1, 1, kColumns}, {4, 64, rows, rows, 64}, {64, 1, 0, 0, 1}};
  }
  return plan;
}

/// How the kernel of a plan gets parameters.
std::optional<cuda::FastMode> mode_of(const Plan& plan, Random& random) {
  Tensors t = testing::random_tensors(random, plan, 0);
  Aligned aligned(t);
  uint32_t faults = 0;
  const auto lowered =
      cuda::lower(plan, {0, element_count(plan)}, aligned.buffers, {.faults = &faults});
  const auto fast = cuda::fast_plan(lowered.value());
  if (!fast) return std::nullopt;
  return fast->mode();
}

void expect_rows_at_once(bool act_order, Random& random) {
  const auto mode = act_order ? cuda::FastMode::indexed_rows : cuda::FastMode::rows;
  const auto is_rows = [&](const Plan& plan) { return mode_of(plan, random) == mode; };
  for (const Element output : kOutputs) {
    for (const int bits : {4, 8}) {
      for (const Element scale : {float32, float16, bfloat16}) {
        const bool fits = !act_order || scale != float32 || output == float32;  // in registers
        Plan plan = gptq(output, scale, bits, 32, act_order);
        EXPECT_EQ(is_rows(plan), fits) << to_string(plan);
        ASSERT_NO_FATAL_FAILURE(expect_fast(plan, plan.dimensions, random));
        plan.parameters.zero_point_overflow = ZeroPointOverflow::wrap;
        EXPECT_EQ(is_rows(plan), fits && bits == 4) << to_string(plan);
        ASSERT_NO_FATAL_FAILURE(expect_fast(plan, plan.dimensions, random));
        plan.has_zero_point = false;
        plan.input = int8;
        plan.parameters.zero_point_packing = {};
        plan.parameters.zero_point_offset = 0;
        plan.parameters.zero_point_overflow = ZeroPointOverflow::keep;
        EXPECT_EQ(is_rows(plan), fits) << to_string(plan);
        ASSERT_NO_FATAL_FAILURE(expect_fast(plan, plan.dimensions, random));
      }
    }
    EXPECT_FALSE(is_rows(gptq(output, output, 4, 12, act_order)));
    EXPECT_FALSE(is_rows(gptq(output, output, 3, 32, act_order)));
    Plan plan = gptq(output, output, 4, 32, act_order);
    plan.parameters.zero_point = int8;  // signs
    EXPECT_FALSE(is_rows(plan));
  }
}

TEST(CudaFastLayouts, LoadTheParametersOfEightRowsAtOnce) {
  Random random(314);
  ASSERT_NO_FATAL_FAILURE(expect_rows_at_once(false, random));
  ASSERT_NO_FATAL_FAILURE(expect_rows_at_once(true, random));
}

/// Offsets of zero points that bytes cannot hold as well.
TEST(CudaFastLayouts, AddAnyOffsetToTheZeroPointsOfRows) {
  Random random(316);
  for (const int bits : {4, 8}) {
    for (const bool act_order : {false, true}) {
      for (const int offset : {-256, -1, 0, 1, 240, 241, 256}) {
        Plan plan = gptq(random.of(kOutputs), float16, bits, 16, act_order);
        plan.parameters.zero_point_offset = offset;
        ASSERT_NO_FATAL_FAILURE(expect_fast(plan, plan.dimensions, random));
      }
    }
  }
}

TEST(CudaFastLayouts, TakeRangesOfRowsAtOnce) {
  Random random(315);
  for (int i = 0; i < 300; ++i) {
    const int64_t rows = random.of(std::array{12, 16, 40});
    const Element output = random.of(kOutputs);
    const Plan plan = gptq(output, random.coin() ? output : float16, random.of(std::array{3, 4, 8}),
                           rows, random.coin());
    Tensors t = testing::random_tensors(random, plan, 0);
    const int64_t unit = random.coin() ? kColumns : 1;
    const int64_t count = rows * kColumns;
    const Range range{random.in(0, count / 2) / unit * unit,
                      count - random.in(0, count / 2 - 1) / unit * unit};
    ASSERT_TRUE(same_on_device(plan, range, testing::slices_of(plan, range, t.buffers()), 0))
        << to_string(plan) << " " << range.begin << " " << range.end;
  }
}

/// GPTQ and compressed-tensors with act-order: words down columns, and rows.
TEST(CudaFastLayouts, TakeElementsWithAGroupIndex) {
  Random random(311);
  constexpr int64_t kGroups = 6;
  for (const Element output : kOutputs) {
    for (const int bits : {2, 3, 4, 8}) {
      for (const int64_t rows : {1, 2, 5, 8, 32}) {
        for (const Element scale : {float32, float16, bfloat16}) {
          const Dimensions down{
              {2, rows * kColumns, kGroups * rows, kGroups * rows, rows * kColumns, 1, kColumns},
              {rows, kColumns, 1, 1, kColumns},
              {kColumns, 1, 0, 0, 1, 1, 1}};
          Plan plan{.input = uint8, .scale = scale, .output = output, .has_zero_point = true};
          plan.parameters.x_packing = {
              .order = CodeOrder::stream, .bits = bits, .row = kColumns, .columns = 2 * rows};
          plan.parameters.zero_point_packing = {
              .order = CodeOrder::stream, .bits = bits, .row = rows};
          plan.parameters.zero_point_offset = 1;
          plan.parameters.group_index = {.groups = kGroups, .scale = rows, .zero_point = rows};
          ASSERT_NO_FATAL_FAILURE(expect_fast(plan, down, random));
          plan.parameters.zero_point_overflow = ZeroPointOverflow::wrap;
          plan.parameters.zero_point = random.coin() ? int8 : uint8;
          ASSERT_NO_FATAL_FAILURE(expect_fast(plan, down, random));
          plan.parameters.zero_point_overflow = ZeroPointOverflow::keep;
          const Dimensions along{{rows, kColumns, kGroups, kGroups, kColumns},
                                 {kColumns, 1, 0, 0, 1, 1, 1}};
          plan.has_zero_point = false;
          plan.input = int8;
          plan.parameters.zero_point = {};
          plan.parameters.zero_point_packing = {};
          plan.parameters.zero_point_offset = 0;
          ASSERT_NO_FATAL_FAILURE(expect_fast(plan, down, random));
          plan.parameters.x_packing = {.order = CodeOrder::stream, .bits = bits, .row = kColumns};
          plan.parameters.group_index = {.groups = kGroups, .scale = 1, .zero_point = 1};
          ASSERT_NO_FATAL_FAILURE(expect_fast(plan, along, random));
        }
      }
    }
  }
}

/// Entry 5 is no group.
void expect_nan_without_a_group(const Plan& plan, int64_t columns, Random& random) {
  const int64_t count = element_count(plan);
  Tensors t = testing::random_tensors(random, plan, 0);
  Aligned aligned(t);
  EXPECT_TRUE(is_fast(plan, {0, count}, aligned.buffers));
  Buffers b = t.buffers();
  const auto valid = testing::run_on_device(plan, {0, count}, b, 0);
  for (const uint32_t entry : {6U, 0xFFFFFFFFU, 0x80000000U}) {
    testing::Bytes groups = t.group_index;
    store_code(int32, groups, 5, entry);
    b.group_index = groups;
    uint32_t faults = 0;
    const auto got = testing::run_on_device(plan, {0, count}, b, 0, &faults);
    EXPECT_EQ(faults, static_cast<uint32_t>(cuda::Fault::group_index));
    const Element y = plan.output;
    const uint32_t nan = y == float32 ? kCanonicalNan : y == float16 ? 0x7E00 : 0x7FC0;
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(testing::code_at(y, got, i),
                i % columns == 5 ? nan : testing::code_at(y, valid, i));
    }
  }
}

TEST(CudaFastLayouts, TellOfEntriesThatAreNoGroupAndMakeTheirElementsNan) {
  Random random(312);
  for (const Element output : kOutputs) {
    Plan plan{.input = uint8, .output = output};
    plan.granularity = Granularity::strided;
    plan.dimensions = {{4, 16, 0, 0, 16}, {16, 1, 0, 0, 1, 1, 1}};
    plan.parameters.x_packing = {.order = CodeOrder::stream, .bits = 4, .row = 16};
    plan.parameters.group_index = {.groups = 6, .scale = 1};
    ASSERT_NO_FATAL_FAILURE(expect_nan_without_a_group(plan, 16, random));
    for (const Element scale : {float16, bfloat16, output}) {
      plan = gptq(output, scale, 4, 8, true);
      ASSERT_NO_FATAL_FAILURE(expect_nan_without_a_group(plan, kColumns, random));
    }
  }
}

/// A vector would end in the next row.
TEST(CudaFastLayouts, LeaveRowsThatEndWithinAVector) {
  Random random(307);
  Plan plan{.input = uint8, .output = bfloat16};
  plan.granularity = Granularity::strided;
  plan.parameters.x_packing = {.order = CodeOrder::stream, .bits = 3, .row = 12};
  plan.dimensions = {{192, 1, 0, 0, 1}};
  Tensors t = testing::random_tensors(random, plan, 0);
  Aligned aligned(t);
  EXPECT_FALSE(is_fast(plan, {0, 192}, aligned.buffers));
  ASSERT_TRUE(same_on_device(plan, {0, 192}, t.buffers(), 0));
}

TEST(CudaFastLayouts, LeaveRowsOfOneCode) {
  Random random(313);
  Plan plan{.input = uint8, .output = bfloat16};
  plan.granularity = Granularity::strided;
  plan.parameters.x_packing = {.order = CodeOrder::stream, .bits = 4, .row = 1, .columns = 320};
  plan.dimensions = {{10, 32, 0, 0, 32}, {32, 1, 0, 0, 1}};
  Tensors t = testing::random_tensors(random, plan, 0);
  Aligned aligned(t);
  EXPECT_FALSE(is_fast(plan, {0, 320}, aligned.buffers));
  ASSERT_TRUE(same_on_device(plan, {0, 320}, t.buffers(), 0));
}

/// Ranges begin within rows.
TEST(CudaFastLayouts, TakeTheWholeRowsOfARange) {
  Random random(308);
  constexpr int64_t kCount = kRows * kColumns;
  const std::array packings{
      Packing{.order = CodeOrder::stream, .bits = 3, .row = kColumns},
      Packing{.order = CodeOrder::words, .bits = 5, .row = kColumns},
      Packing{.order = CodeOrder::planes, .bits = 6, .row = kColumns},
      Packing{.order = CodeOrder::stream, .bits = 8, .row = kColumns, .columns = kRows},
      Packing{.order = CodeOrder::slabs, .bits = 4, .columns = kCount / 2},
      Packing{.order = CodeOrder::slabs, .bits = 2, .columns = kCount / 4 + 1},
      Packing{.order = CodeOrder::slabs_high_first, .bits = 3, .columns = kCount / 10 + 1}};
  for (int i = 0; i < 60; ++i) {
    for (const Packing& packing : packings) {
      Plan plan{.input = uint8, .output = random.of(kOutputs), .has_zero_point = true};
      plan.granularity = Granularity::strided;
      plan.dimensions = kBlocks;
      plan.parameters.x_packing = packing;
      Tensors t = testing::random_tensors(random, plan, 0);
      const Range range{random.in(0, kCount / 2), kCount - random.in(0, kCount / 2 - 1)};
      ASSERT_TRUE(same_on_device(plan, range, testing::slices_of(plan, range, t.buffers()), 0));
    }
    Plan plan{.input = float6e3m2, .output = random.of(kOutputs)};
    plan.granularity = Granularity::strided;
    plan.dimensions = kBlocks;
    Tensors t = testing::random_tensors(random, plan, 0);
    const Range range{random.in(0, kCount / 2), kCount - random.in(0, kCount / 2 - 1)};
    ASSERT_TRUE(same_on_device(plan, range, testing::slices_of(plan, range, t.buffers()), 0));
  }
}

}  // namespace
}  // namespace dequant::cuda_fast_layouts_test
