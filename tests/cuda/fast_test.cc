// Which plans the fast kernels take, and that these give the bits of run().
#include <gtest/gtest.h>

#include <array>

#include "cuda/fast_cases.h"

namespace dequant::cuda_fast_test {
namespace {

using testing::Aligned;
using testing::Dimensions;
using testing::expect_fast;
using testing::FastShape;
using testing::is_fast;
using testing::Random;
using testing::same_on_device;
using testing::Tensors;
using enum Element;

constexpr std::array kOutputs{float32, float16, bfloat16};

constexpr int64_t kRows = 16;
constexpr int64_t kColumns = 256;

Dimensions matrix(int64_t scale_of_row, int64_t scale_of_column, int64_t block = 1,
                  int64_t x_of_row = kColumns) {
  return {{kRows, x_of_row, scale_of_row, scale_of_row, kColumns},
          {kColumns, 1, scale_of_column, scale_of_column, 1, block}};
}

Packing down_columns(int bits) {
  return {.order = CodeOrder::stream, .bits = bits, .row = kColumns, .columns = kRows};
}

const std::array kShapes{
    FastShape{"one scale", matrix(0, 0)},
    FastShape{"a scale for each row", matrix(1, 0)},
    FastShape{"a scale for each column", matrix(0, 1)},
    FastShape{"a scale for each element", matrix(kColumns, 1)},
    FastShape{"blocks of 16", matrix(16, 1, 16)},
    FastShape{"blocks of 24, the last one short", matrix(11, 1, 24)},
    FastShape{"blocks of 4 rows and 128 columns",
              {{kRows, kColumns, 2, 2, kColumns, 4}, {kColumns, 1, 1, 1, 1, 128}}},
    FastShape{"padded x", matrix(1, 0, 1, kColumns + 64)},
    FastShape{"padded x, blocks of 4 rows",  // the first row of a range may be within a block
              {{kRows, kColumns + 64, 1, 1, kColumns, 4}, {kColumns, 1, 0, 0, 1}}},
};

/// Plans of all kinds of codes that have a fast kernel.
std::vector<Plan> plans(Element output) {
  std::vector<Plan> out;
  for (const Element x : {uint8, int8, uint16, int16, uint4, int4, uint2, int2, float8e4m3fn,
                          float8e5m2, float8e4m3fnuz, float4e2m1}) {
    Plan plan{.input = x, .output = output};
    if (!is_input(x)) continue;
    plan.has_zero_point = kind(x) != Kind::floating;
    out.push_back(plan);
  }
  Plan packed{.input = uint8, .output = output, .has_zero_point = true};
  packed.parameters.x_packing = {.order = CodeOrder::high_first, .bits = 4};
  out.push_back(packed);
  packed.parameters.x_packing = {.order = CodeOrder::stream, .bits = 4, .row = kColumns};
  out.push_back(packed);
  packed.has_zero_point = false;
  packed.parameters.codebook = true;
  out.push_back(packed);
  return out;
}

TEST(CudaFast, TakesAlignedVectorsOfEveryKindOfCodesAndScales) {
  Random random(201);
  for (const Element output : kOutputs) {
    for (const FastShape& shape : kShapes) {
      for (const Plan& plan : plans(output)) {
        SCOPED_TRACE(shape.name);
        ASSERT_NO_FATAL_FAILURE(expect_fast(plan, shape.dimensions, random));
      }
    }
  }
}

TEST(CudaFast, TakesScalesOfEveryType) {
  Random random(202);
  for (const Element output : kOutputs) {
    for (const Element scale : {float32, float16, bfloat16, float8e8m0, float8e4m3fn}) {
      for (int use = 0; use < 3; ++use) {
        Plan plan{.input = int8, .scale = scale, .output = output, .has_zero_point = true};
        plan.parameters.tensor_scale = static_cast<TensorScale>(use);
        ASSERT_NO_FATAL_FAILURE(expect_fast(plan, kShapes[4].dimensions, random));
      }
    }
  }
}

/// GPTQ: words of a row run down a column.
TEST(CudaFast, TakesRowsThatRunDownColumnsOfWords) {
  Random random(203);
  for (const Element output : kOutputs) {
    const int bits = output == float32 ? 8 : 4;
    for (const int width : {4, bits}) {
      Plan plan{.input = uint8, .output = output, .has_zero_point = true};
      plan.parameters.x_packing = down_columns(width);
      plan.parameters.zero_point_packing = {
          .order = CodeOrder::stream, .bits = width, .row = kRows};
      plan.parameters.zero_point_offset = 1;
      ASSERT_NO_FATAL_FAILURE(expect_fast(plan,
                                          {{kRows, kColumns, 1, 1, kColumns},
                                           {kColumns / 32, 32, kRows, kRows, 32},
                                           {32, 1, 0, 0, 1}},
                                          random));
    }
  }
}

/// AWQ: rows of x are columns of y; parameters of groups of 64 columns.
Plan awq(Element output, CodeOrder order, int64_t n, bool packed_zeros) {
  Plan plan{.input = uint8, .scale = float16, .output = output, .has_zero_point = true};
  plan.granularity = Granularity::strided;
  plan.parameters.x_packing = {.order = order, .bits = 4, .row = n};
  if (packed_zeros) plan.parameters.zero_point_packing = plan.parameters.x_packing;
  plan.dimensions = {{n, 1, 1, 1, kColumns}, {kColumns / 64, 64 * n, n, n, 64}, {64, n, 0, 0, 1}};
  return plan;
}

TEST(CudaFast, TakesSquaresOfIntegersWithTheParametersOfRows) {
  Random random(208);
  for (const Element output : kOutputs) {
    for (const CodeOrder order : {CodeOrder::interleaved, CodeOrder::stream}) {
      for (const bool packed_zeros : {true, false}) {
        for (const int64_t n : {16, 24, 64, 320}) {
          const Plan plan = awq(output, order, n, packed_zeros);
          ASSERT_NO_FATAL_FAILURE(expect_fast(plan, plan.dimensions, random));
        }
      }
    }
  }
}

/// The number of squares of a thread: 2 where the rows of y are a multiple of 64.
int32_t squares_of_thread(const Plan& plan, Random& random) {
  Tensors t = testing::random_tensors(random, plan, 0);
  Aligned aligned(t);
  const auto lowered = cuda::lower(plan, {0, element_count(plan)}, aligned.buffers, {});
  return cuda::fast_plan(lowered.value()).value().units;
}

TEST(CudaFast, TakesTwoSquaresWhoseColumnsAreNeighbours) {
  Random random(217);
  for (const Element output : kOutputs) {
    EXPECT_EQ(squares_of_thread(awq(output, CodeOrder::interleaved, 320, true), random), 2);
    EXPECT_EQ(squares_of_thread(awq(output, CodeOrder::interleaved, 32, true), random), 1);
    EXPECT_EQ(squares_of_thread(awq(output, CodeOrder::interleaved, 24, true), random), 1);
  }
}

TEST(CudaFast, TakesTheWholeRowsOfARangeOfSquares) {
  Random random(218);
  for (int i = 0; i < 200; ++i) {
    const int64_t n = random.of(std::array{24, 64, 192});
    const Plan plan = awq(random.of(kOutputs), CodeOrder::interleaved, n, random.coin());
    Tensors t = testing::random_tensors(random, plan, 0);
    const int64_t unit = random.of(std::array<int64_t, 3>{1, kColumns * 8, kColumns * 16});
    const int64_t count = n * kColumns;
    const Range range{random.in(0, count / 2) / unit * unit,
                      count - random.in(0, count / 2 - 1) / unit * unit};
    ASSERT_TRUE(same_on_device(plan, range, testing::slices_of(plan, range, t.buffers()), 0))
        << to_string(plan) << " " << range.begin << " " << range.end;
  }
}

Plan interleaved(Element output) {
  Plan plan{.input = uint8, .output = output, .has_zero_point = true};
  plan.granularity = Granularity::strided;
  plan.parameters.x_packing = {.order = CodeOrder::interleaved, .bits = 4, .row = kRows};
  plan.parameters.zero_point_packing = plan.parameters.x_packing;
  return plan;
}

/// Parameters that change where a square does not expect it, and zero points that are no words.
TEST(CudaFast, LeavesSquaresWhoseParametersChangeWithin) {
  Random random(210);
  struct Case {
    Dimensions dimensions;
    bool is_fast;
    int32_t offset = 0;
  };
  const std::array cases{
      Case{{{kRows, 1, 1, 1, kColumns}, {kColumns, kRows, 0, 0, 1}}, true},
      Case{{{kRows, 1, 1, 1, kColumns, 4}, {kColumns, kRows, 0, 0, 1}}, false},
      Case{{{kRows, 1, 1, 1, kColumns}, {kColumns, kRows, kRows, kRows, 1, 4}}, true},
      Case{{{kRows, 1, 1, 1, kColumns}, {kColumns, kRows, kRows, kRows, 1, 2}}, false},
      Case{{{kRows, 1, 1, 1, kColumns}, {kColumns, kRows, 0, 0, 1}}, true, 3},
      Case{{{2, kRows * kColumns, 4, 4, kRows * kColumns},
            {kRows, 1, 1, 1, kColumns},
            {kColumns, kRows, 0, 0, 1}},
           true},  // the zero points of the second matrix begin within a word
  };
  for (const Case& c : cases) {
    Plan plan = interleaved(float32);
    plan.dimensions = c.dimensions;
    plan.parameters.zero_point_offset = c.offset;
    Tensors t = testing::random_tensors(random, plan, 0);
    Aligned aligned(t);
    const Range whole{0, element_count(plan)};
    EXPECT_EQ(is_fast(plan, whole, aligned.buffers), c.is_fast) << to_string(plan);
    ASSERT_TRUE(same_on_device(plan, whole, t.buffers(), 0));
  }
}

/// gpt-oss: blocks of 32 neighbours in x, which are rows of y.
Plan gpt_oss(Element output, int64_t blocks, int64_t out) {
  const int64_t in = blocks * 32;
  Plan plan{.input = float4e2m1, .scale = float8e8m0, .output = output};
  plan.granularity = Granularity::strided;
  plan.dimensions = {{3, out * in, out * blocks, 0, out * in},
                     {blocks, 32, 1, 0, 32 * out},
                     {32, 1, 0, 0, out},
                     {out, in, blocks, 0, 1}};
  return plan;
}

TEST(CudaFast, TakesSquaresOfFloatsWithTheScalesOfColumns) {
  Random random(209);
  for (const Element output : kOutputs) {
    for (const int64_t blocks : {1, 2, 3, 6, 8, 20}) {
      const Plan plan = gpt_oss(output, blocks, 96);
      ASSERT_NO_FATAL_FAILURE(expect_fast(plan, plan.dimensions, random));
    }
  }
}

/// Threads count the 4 words of a block first, then 4 vectors of y, then neighbouring blocks.
TEST(CudaFast, TakesBlocksOfColumnsThatAreNeighboursTogether) {
  Random random(219);
  const Plan plan = gpt_oss(bfloat16, 90, 64);
  Tensors t = testing::random_tensors(random, plan, 0);
  Aligned aligned(t);
  const auto lowered = cuda::lower(plan, {0, element_count(plan)}, aligned.buffers, {});
  const cuda::FastPlan fast = cuda::fast_plan(lowered.value()).value();
  ASSERT_GE(fast.rank, 3);
  const auto& last = fast.dimensions;
  EXPECT_EQ(last[fast.rank - 1].x, 4);
  EXPECT_EQ(last[fast.rank - 1].size, 4U);
  EXPECT_EQ(last[fast.rank - 2].size, 4U);
  EXPECT_EQ(last[fast.rank - 3].x, 16);
  EXPECT_EQ(last[fast.rank - 3].size, 10U);
}

TEST(CudaFast, LeavesBuffersThatAreNotAligned) {
  Random random(207);
  Plan plan{.input = uint8, .output = float32, .inner = 64};
  Tensors t = testing::random_tensors(random, plan, 0);
  Aligned aligned(t);
  EXPECT_TRUE(is_fast(plan, {0, 64}, aligned.buffers));
  plan.inner = 60;
  Buffers b = aligned.buffers;
  b.x = b.x.subspan(1, 60);
  EXPECT_FALSE(is_fast(plan, {0, 60}, b));
  b = aligned.buffers;
  b.y = b.y.subspan(4);
  EXPECT_FALSE(is_fast(plan, {0, 60}, b));
}

/// Rows of a range begin within a block of rows: the buffer of scales begins with that block.
TEST(CudaFast, TakesRangesThatBeginWithABlockOfRowsThatIsNotTheFirst) {
  Random random(211);
  for (const Element output : kOutputs) {
    Plan plan{.input = int8, .output = output, .has_zero_point = true};
    plan.granularity = Granularity::strided;
    plan.dimensions = {{kRows, kColumns, 2, 2, kColumns, 4}, {kColumns, 1, 1, 1, 1, 128}};
    Tensors t = testing::random_tensors(random, plan, 0);
    Aligned aligned(t);
    const Range range{6 * kColumns, 15 * kColumns};
    EXPECT_TRUE(is_fast(plan, range, testing::slices_of(plan, range, aligned.buffers)));
    ASSERT_TRUE(same_on_device(plan, range, testing::slices_of(plan, range, t.buffers()), 0));
  }
}

/// A scale for each block of 4 rows and 128 columns, as dialects write it: blocks, their rows,
/// blocks of columns, their columns. A range of other rows than whole blocks has one kernel.
TEST(CudaFast, TakesTheRowsOfARangeThatAreNoWholeBlocks) {
  Random random(222);
  constexpr int64_t kBlocks = kColumns / 128;
  for (const Element output : kOutputs) {
    Plan plan{.input = float8e4m3fn, .output = output};
    plan.granularity = Granularity::strided;
    plan.dimensions = {{kRows / 4, 4 * kColumns, kBlocks, 0, 4 * kColumns},
                       {4, kColumns, 0, 0, kColumns},
                       {kBlocks, 128, 1, 0, 128},
                       {128, 1, 0, 0, 1}};
    EXPECT_EQ(cuda::row_elements(plan), kColumns);
    Tensors t = testing::random_tensors(random, plan, 0);
    Aligned aligned(t);
    for (const Range rows : {Range{1, 2}, Range{3, 13}, Range{4, 8}, Range{0, 7}}) {
      const Range range{rows.begin * kColumns, rows.end * kColumns};
      int others = 0;
      const auto lowered =
          cuda::lower(plan, range, testing::slices_of(plan, range, aligned.buffers), {});
      const auto general = [&](const cuda::DevicePlan&) {
        ++others;
        return Status();
      };
      const auto fast = [](const cuda::FastPlan&) { return Status(); };
      ASSERT_TRUE(cuda::for_each_launch(lowered.value(), general, fast));
      EXPECT_EQ(others, 0) << rows.begin << " to " << rows.end;
      ASSERT_TRUE(same_on_device(plan, range, testing::slices_of(plan, range, t.buffers()), 0));
    }
  }
}

/// Whole rows of a range are fast, what is left of others at both ends is not.
TEST(CudaFast, TakesTheWholeRowsOfARange) {
  Random random(205);
  for (const Element output : kOutputs) {
    for (const FastShape& shape : kShapes) {
      Plan plan{.input = uint4, .output = output, .has_zero_point = true};
      plan.granularity = Granularity::strided;
      plan.dimensions = shape.dimensions;
      Tensors t = testing::random_tensors(random, plan, 0);
      const Range range{random.in(0, 3 * kColumns), kRows * kColumns - random.in(0, 3 * kColumns)};
      ASSERT_TRUE(same_on_device(plan, range, testing::slices_of(plan, range, t.buffers()), 0))
          << shape.name;
    }
  }
}

}  // namespace
}  // namespace dequant::cuda_fast_test
