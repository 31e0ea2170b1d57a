// run_range(): the ranges of a tensor, each computed from just its own slices, joined are the
// tensor.
#include <gtest/gtest.h>

#include "support/example.h"
#include "support/expect_error.h"

namespace dequant::range_test {
namespace {

using testing::Bytes;
using testing::Example;
using testing::expected;
using testing::Granular;
using testing::is_invalid;
using testing::Random;
using testing::random_cases;
using testing::random_example;
using testing::same_output;
using enum Element;

/// The bytes of elements [begin, end), where begin lies on a byte.
Bytes slice(Element element, const Bytes& data, Range range) {
  const Range bytes = bytes_of(element, range);
  return {data.begin() + bytes.begin, data.begin() + bytes.end};
}

/// Runs one range on exact copies of what it needs.
Bytes run_one_range(const Example& e, Range range) {
  const Slices slices = slices_of(e.plan, range);
  const Bytes x = slice(e.plan.input, e.x, slices.x);
  const Bytes scale = slice(e.plan.scale, e.scale, slices.scale);
  const Bytes zero = slice(e.plan.input, e.zero_point, slices.zero_point);
  Bytes y(testing::bytes_for(e.plan.output, range.end - range.begin));
  const Status status = run_range(e.plan, range, {x, scale, zero, y});
  EXPECT_TRUE(status) << status.error().message;
  return y;
}

/// All elements, in ranges that start on random multiples of 8, or anywhere.
Bytes run_in_ranges(Random& random, const Example& e, int64_t most) {
  Bytes all;
  const int64_t multiple = random.coin() ? 8 : 1;
  for (int64_t begin = 0; begin < e.count();) {
    const int64_t end = std::min(e.count(), begin + multiple * random.in(1, most));
    const Bytes y = run_one_range(e, {begin, end});
    all.insert(all.end(), y.begin(), y.end());
    begin = end;
  }
  return all;
}

TEST(RunRange, RangesJoinedAreTheTensor) {
  Random random(1);
  for (int i = 0; i < random_cases(4000); ++i) {
    const int64_t rank = random.in(0, 4);
    Granular shapes =
        testing::random_granular(random, testing::random_dims(random, rank, rank > 2 ? 9 : 70));
    const Example e = random_example(random, std::move(shapes), testing::random_types(random));
    ASSERT_TRUE(same_output(e, run_in_ranges(random, e, 20), expected(e)));
  }
}

TEST(RunRange, RangesOfSeveralChunksJoinedAreTheTensor) {
  Random random(2);
  for (const Granular& shapes :
       {Granular{.x = {33, 6'001}, .scale = {33, 182}, .block = 33},
        Granular{.x = {33, 6'001}, .scale = {6'001}},
        Granular{.x = {33, 6'001}, .scale = {3, 6'001}, .axis = 0, .block = 13},
        Granular{.x = {33, 6'001}, .scale = {33}, .axis = 0}}) {
    for (const Element x : {int4, uint2, float4e2m1, float6e2m3, uint8}) {
      const Example e = random_example(random, shapes, {.x = x});
      EXPECT_TRUE(same_output(e, run_in_ranges(random, e, 20'000), expected(e)));
    }
  }
}

TEST(RunRange, RangesWhoseRowsShareScalesJoinedAreTheTensor) {
  Random random(5);
  for (const Granular& shapes :
       {Granular{.x = {50, 3'200}, .scale = {3'200}},
        Granular{.x = {50, 3'200}, .scale = {3, 3'200}, .axis = 0, .block = 17}}) {
    for (const Element x : {uint2, int2}) {
      for (const Element y : {float16, bfloat16}) {
        const Example e = random_example(random, shapes, {.x = x, .y = y});
        EXPECT_TRUE(same_output(e, run_in_ranges(random, e, 6'000), expected(e)));
      }
    }
  }
}

TEST(RunRange, ColumnsOfRangesThatBeginWithinARowAreThoseOfTheTensor) {
  Random random(6);
  for (const Granular& shapes : {Granular{.x = {17, 2'804, 3}, .scale = {2'804}},
                                 Granular{.x = {17, 1'701, 5}, .scale = {1'701}}}) {
    for (const Element x : {int4, uint2, uint8, float8e5m2}) {
      for (const Element y : {float32, float16}) {
        const Example e = random_example(random, shapes, {.x = x, .y = y});
        EXPECT_TRUE(same_output(e, run_in_ranges(random, e, 17'000), expected(e)));
      }
    }
  }
}

TEST(RunRange, MayBeginAndEndAnywhere) {
  Random random(3);
  for (const Granular& shapes :
       {Granular{.x = {3, 21}, .scale = {3, 3}, .block = 7}, Granular{.x = {3, 21}, .scale = {21}},
        Granular{.x = {3, 3, 7}, .scale = {3}}, Granular{.x = {63}, .scale = {}},
        Granular{.x = {7, 9}, .scale = {3, 9}, .axis = 0, .block = 3}}) {
    for (const Element x : elements()) {
      if (!is_input(x)) continue;
      const Example e = random_example(random, shapes, {.x = x});
      const Bytes want = expected(e);
      for (int64_t begin = 0; begin <= e.count(); ++begin) {
        for (int64_t end = begin; end <= e.count(); ++end) {
          const Bytes part(want.begin() + begin * 4, want.begin() + end * 4);
          ASSERT_TRUE(run_one_range(e, {begin, end}) == part) << begin << " to " << end;
        }
      }
    }
  }
}

TEST(RunRange, RulesOfRangesMayBeginAndEndAnywhere) {
  Random random(7);
  for (const Rule rule : {Rule::min_combined, Rule::min_first, Rule::scaled,
                          Rule::documented_min_combined, Rule::documented_scaled}) {
    const bool axis = rule == Rule::min_combined || rule == Rule::min_first;
    Plan plan{.input = int8, .rule = rule, .outer = 3, .axis = 7, .inner = 2};
    if (axis) plan.granularity = Granularity::per_axis;
    if (!axis) plan.outer = plan.axis = 1, plan.inner = 42;
    const Bytes x = testing::random_bytes(random, 42);
    std::vector<uint32_t> low, high;
    for (int i = 0; i < 7; ++i) {
      low.push_back(testing::bits_of(-1.0F - static_cast<float>(i)));
      high.push_back(testing::bits_of(3.0F * static_cast<float>(i + 1)));
    }
    const Bytes min = testing::pack(float32, low);
    const Bytes max = testing::pack(float32, high);
    Bytes want(42 * 4);
    ASSERT_TRUE(run(plan, {x, {}, {}, want, min, max}));
    for (int64_t begin = 0; begin <= 42; ++begin) {
      for (int64_t end = begin; end <= 42; ++end) {
        const Slices s = slices_of(plan, {begin, end});
        Bytes y(static_cast<size_t>(end - begin) * 4);
        const Bytes codes = slice(int8, x, s.x);
        const Bytes low_ends = slice(float32, min, s.min_range);
        const Bytes high_ends = slice(float32, max, s.max_range);
        ASSERT_TRUE(run_range(plan, {begin, end}, {codes, {}, {}, y, low_ends, high_ends}));
        ASSERT_TRUE(y == slice(float32, want, {begin, end})) << name(rule) << begin << " " << end;
      }
    }
  }
}

TEST(RunRange, ReachesTheEndOfTensorsTooLargeForMemory) {
  // 2^44 elements; the last 16 have the last block's scale.
  const Plan plan{.input = int2,
                  .granularity = Granularity::blocked,
                  .outer = int64_t{1} << 32,
                  .axis = 4096,
                  .inner = 1,
                  .block = 64};
  const Range range{element_count(plan) - 16, element_count(plan)};
  const Range params = scales_of(plan, range);
  EXPECT_EQ(params.end, scale_count(plan));
  std::vector<uint32_t> scales(static_cast<size_t>(params.end - params.begin),
                               testing::bits_of(1.0F));
  scales.back() = testing::bits_of(0.5F);
  const Bytes x(4, std::byte{0b10'01'00'11});
  Bytes y(64);
  ASSERT_TRUE(run_range(plan, range, {x, testing::pack(float32, scales), {}, y}));
  const float want[] = {-0.5F, 0.0F, 0.5F, -1.0F};
  for (int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(testing::float_of(testing::code_at(float32, y, i)), want[i % 4]) << i;
  }
}

TEST(RunRange, AnEmptyRangeNeedsNoMemory) {
  const Plan plan{.input = int4, .has_zero_point = true, .inner = 100};
  EXPECT_TRUE(run_range(plan, {0, 0}, {}));
  EXPECT_TRUE(run_range(plan, {96, 96}, {}));
}

// The range {0, 0} of an empty tensor demanded all scales.
TEST(RunRange, OfAnEmptyTensorTakesBuffersOfJustItsSlices) {
  const std::array<std::byte, 4> memory{};
  const std::span<const std::byte> nothing(memory.data(), size_t{0});
  std::array<std::byte, 4> results{};
  for (const Element x : {int8, float8e4m3fn}) {
    for (const int64_t axis : {0, 1, 4}) {
      const Plan plan{.input = x,
                      .has_zero_point = true,
                      .granularity = axis == 0 ? Granularity::per_tensor : Granularity::per_axis,
                      .axis = std::max<int64_t>(axis, 1),
                      .inner = 0};
      const Slices slices = slices_of(plan, {0, 0});
      ASSERT_EQ(slices.scale.begin, slices.scale.end);
      const Buffers buffers{nothing, nothing, nothing, std::span(results).first(0)};
      EXPECT_TRUE(testing::succeeds(run_range(plan, {0, 0}, buffers)));
      EXPECT_TRUE(testing::succeeds(check_sizes(plan, {0, 0}, buffers)));
      EXPECT_TRUE(is_invalid(run(plan, buffers), "scale: 0 bytes given"));
    }
  }
}

TEST(RunRange, RejectsRangesOutsideTheTensor) {
  Random random(4);
  const Example e = random_example(random, {.x = {100}, .scale = {}}, {.zero_point = false});
  Bytes y(400, testing::kUntouched);
  const Buffers buffers{e.x, e.scale, {}, y};
  for (const Range outside : {Range{-8, 8}, Range{0, 101}, Range{104, 104}, Range{16, 8},
                              Range{INT64_MIN, INT64_MAX}, Range{0, INT64_MAX}, Range{0, -1}}) {
    EXPECT_TRUE(is_invalid(run_range(e.plan, outside, buffers), "elements: "));
  }
  EXPECT_EQ(y, Bytes(400, testing::kUntouched));
}

}  // namespace
}  // namespace dequant::range_test
