// Transposes with fast kernels: squares, and codes of 32 bits that are apart. They give the bits of
// run().
#include <gtest/gtest.h>

#include <array>

#include "cuda/fast_cases.h"

namespace dequant::cuda_transposes_test {
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
constexpr int64_t kChannels = 16;
constexpr int64_t kPixels = 64;
constexpr int64_t kImage = kChannels * kPixels;
const std::array kTransposes{
    FastShape{
        "nhwc to nchw, one scale",
        {{2, kImage, 0, 0, kImage}, {kChannels, 1, 0, 0, kPixels}, {kPixels, kChannels, 0, 0, 1}}},
    FastShape{
        "nhwc to nchw, a scale for each channel",
        {{2, kImage, 0, 0, kImage}, {kChannels, 1, 1, 1, kPixels}, {kPixels, kChannels, 0, 0, 1}}},
    FastShape{
        "nchw to nhwc, a scale for each channel",
        {{2, kImage, 0, 0, kImage}, {kPixels, 1, 0, 0, kChannels}, {kChannels, kPixels, 1, 1, 1}}},
    FastShape{"rows in blocks of 8 of each column",
              {{kPixels, 1, 1, 1, kChannels, 8}, {kChannels, kPixels, 8, 8, 1}}},
    FastShape{"columns in blocks of 8 of each row",
              {{kChannels, 1, 8, 8, kPixels}, {kPixels, kChannels, 1, 1, 1, 8}}},
    FastShape{"a scale for each other row of x, which is a column",
              {{kPixels, 1, 0, 0, kChannels}, {kChannels, kPixels + 8, 2, 2, 1}}},
};

TEST(CudaFast, TakesTransposes) {
  Random random(212);
  for (const FastShape& shape : kTransposes) {
    for (const Element output : kOutputs) {
      for (const Element x : {uint4, int4, uint8, int8, uint16, int16, float8e4m3fn, float8e5m2,
                              float8e4m3fnuz, float8e5m2fnuz}) {
        SCOPED_TRACE(shape.name);
        Plan plan{.input = x, .output = output};
        plan.has_zero_point = kind(x) != Kind::floating && random.coin();
        ASSERT_NO_FATAL_FAILURE(expect_fast(plan, shape.dimensions, random));
      }
    }
  }
}

TEST(CudaFast, TakesTheWholeRowsOfARangeOfATranspose) {
  Random random(213);
  Plan plan{.input = uint8, .output = bfloat16, .has_zero_point = true};
  plan.granularity = Granularity::strided;
  plan.dimensions = {{kPixels, 1, 0, 0, kChannels}, {kChannels, kPixels, 1, 1, 1}};
  Tensors t = testing::random_tensors(random, plan, 0);
  Aligned aligned(t);
  const std::array ranges{Range{4 * kChannels, 32 * kChannels},
                          Range{kChannels, 9 * kChannels + 3}};
  for (const Range range : ranges) {
    EXPECT_TRUE(is_fast(plan, {4 * kChannels, 32 * kChannels}, aligned.buffers));
    ASSERT_TRUE(same_on_device(plan, range, t.buffers(), 0));
  }
}

/// Neighbours in y are words in x that are apart, beside each other or not.
TEST(CudaFast, TakesCodesOf32BitsThatAreApart) {
  Random random(220);
  const FastShape every_third{
      "every third code", {{kPixels, 3 * kChannels, 1, 1, kChannels, 2}, {kChannels, 3, 0, 0, 1}}};
  const FastShape seven_rows{"seven rows", {{7, 1, 1, 1, kChannels}, {kChannels, 7, 0, 0, 1}}};
  const std::array shapes{kTransposes[0], kTransposes[1], kTransposes[2],
                          kTransposes[4], every_third,    seven_rows};
  for (const FastShape& shape : shapes) {
    for (const Element output : kOutputs) {
      for (const Element x : {uint32, int32}) {
        SCOPED_TRACE(shape.name);
        Plan plan{.input = x, .output = output};
        plan.has_zero_point = random.coin();
        ASSERT_NO_FATAL_FAILURE(expect_fast(plan, shape.dimensions, random));
      }
    }
  }
}

/// Codes that count down, and the same code again and again.
TEST(CudaFast, LeavesCodesOf32BitsThatDoNotCountUp) {
  Random random(221);
  for (const int64_t stride : {-1, -2, 0}) {
    Plan plan{.input = int32, .output = float32};
    plan.granularity = Granularity::strided;
    plan.dimensions = {{kPixels, 2 * kChannels, 1, 1, kChannels}, {kChannels, stride, 0, 0, 1}};
    Tensors t = testing::random_tensors(random, plan, 0);
    Aligned aligned(t);
    const Range whole{0, element_count(plan)};
    EXPECT_FALSE(is_fast(plan, whole, aligned.buffers)) << to_string(plan);
    ASSERT_TRUE(same_on_device(plan, whole, t.buffers(), 0));
  }
}

/// Columns of 65 codes of 4 bits: every second one begins within a byte.
TEST(CudaFast, LeavesSquaresWhoseColumnsAreNoWholeWords) {
  Random random(215);
  for (const int64_t gap : {1, 2, 4}) {
    Plan plan{.input = uint4, .output = bfloat16};
    plan.granularity = Granularity::strided;
    plan.dimensions = {{kPixels, 1, 0, 0, kChannels}, {kChannels, kPixels + gap, 0, 0, 1}};
    Tensors t = testing::random_tensors(random, plan, 0);
    Aligned aligned(t);
    const Range whole{0, element_count(plan)};
    EXPECT_FALSE(is_fast(plan, whole, aligned.buffers));
    ASSERT_TRUE(same_on_device(plan, whole, t.buffers(), 0));
  }
}

TEST(CudaFast, LeavesTransposesThatAreNoSquares) {
  Random random(214);
  const std::array cases{
      // Parameters of rows and of columns.
      Dimensions{{kChannels, 1, kPixels, kPixels, kPixels}, {kPixels, kChannels, 1, 1, 1}},
      // Neither blocks nor rows end with squares.
      Dimensions{{kPixels, 1, 1, 1, kChannels, 3}, {kChannels, kPixels, 22, 22, 1}},
      Dimensions{{6, 1, 0, 0, kPixels}, {kPixels, 6, 0, 0, 1}},
      // Columns that are not aligned.
      Dimensions{{kPixels, 1, 0, 0, kChannels}, {kChannels, kPixels + 2, 0, 0, 1}},
  };
  for (const Dimensions& dimensions : cases) {
    Plan plan{.input = int8, .output = float16, .has_zero_point = true};
    plan.granularity = Granularity::strided;
    plan.dimensions = dimensions;
    Tensors t = testing::random_tensors(random, plan, 0);
    Aligned aligned(t);
    const Range whole{0, element_count(plan)};
    EXPECT_FALSE(is_fast(plan, whole, aligned.buffers)) << to_string(plan);
    ASSERT_TRUE(same_on_device(plan, whole, t.buffers(), 0));
  }
}

}  // namespace
}  // namespace dequant::cuda_transposes_test
