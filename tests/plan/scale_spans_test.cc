// Scale spans and scales_of() against the specification's index formula, on random small tensors.
#include "plan/scale_spans.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/print.h"
#include "support/spec_index.h"

namespace dequant::scale_spans_test {
namespace {

using testing::Dims;
using testing::Granular;
using testing::Random;
using enum Element;

std::vector<ScaleSpan> spans_of(const Plan& plan, Range range) {
  std::vector<ScaleSpan> list;
  for_each_scale_span(layout_of(plan), range.begin, range.end,
                      [&](const ScaleSpan& s) { list.push_back(s); });
  return list;
}

/// The scale of every element of the range, as its scale spans say. Fails unless they cover the
/// range once and in order.
std::vector<int64_t> expand(const Plan& plan, Range range) {
  std::vector<int64_t> scales;
  int64_t at = range.begin;
  for (const ScaleSpan& s : spans_of(plan, range)) {
    EXPECT_EQ(s.begin, at) << "scale spans follow one another";
    EXPECT_GT(s.count, 0);
    EXPECT_GE(s.group, 0);
    for (int64_t i = 0; i < s.count; ++i)
      scales.push_back(s.scale + (s.group == 0 ? i : i / s.group));
    at += s.count;
  }
  EXPECT_EQ(at, range.end);
  return scales;
}

std::vector<int64_t> specified(const Granular& g, Range range) {
  std::vector<int64_t> scales;
  for (int64_t i = range.begin; i < range.end; ++i) {
    scales.push_back(testing::spec_scale_index(g, i));
  }
  return scales;
}

/// Calls check(granular, plan, range) for random tensors of rank 0 to 5 and random ranges of them.
template <class Check>
void for_random_ranges(uint64_t seed, Check check) {
  Random random(seed);
  for (int i = 0; i < 3000; ++i) {
    const Granular g = random_granular(random, testing::random_dims(random, 5, 5));
    const auto plan = onnx::dequantize_linear(node_of(g, int8, float32, float32, random.coin()));
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(element_count(*plan), testing::count_of(g.x));
    ASSERT_EQ(scale_count(*plan), testing::count_of(g.scale));
    for (int k = 0; k < 8; ++k) {
      const int64_t begin = random.in(0, element_count(*plan));
      const int64_t end = random.in(begin, element_count(*plan));
      SCOPED_TRACE(to_string(*plan) + ::testing::PrintToString(Range{begin, end}));
      check(g, *plan, k == 0 ? Range{0, element_count(*plan)} : Range{begin, end});
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Runs, GiveEveryElementOfAnyRangeTheScaleOfTheSpecification) {
  for_random_ranges(1, [](const Granular& g, const Plan& plan, Range range) {
    EXPECT_EQ(expand(plan, range), specified(g, range));
  });
}

TEST(Runs, ScaleAtAgreesWithTheSegments) {
  for_random_ranges(2, [](const Granular&, const Plan& plan, Range range) {
    const std::vector<int64_t> scales = expand(plan, range);
    for (int64_t i = range.begin; i < range.end; ++i) {
      ASSERT_EQ(layout_of(plan).scale_at(i), scales[static_cast<size_t>(i - range.begin)]);
    }
  });
}

TEST(ScalesOf, HoldsEveryScaleTheRangeNeedsBetweenMultiplesOfEight) {
  for_random_ranges(3, [](const Granular& g, const Plan& plan, Range range) {
    const Range got = scales_of(plan, range);
    for (const int64_t scale : specified(g, range)) {
      ASSERT_GE(scale, got.begin);
      ASSERT_LT(scale, got.end);
    }
    EXPECT_LE(got.begin, got.end);
    EXPECT_EQ(got.begin % 8, 0);
    EXPECT_TRUE(got.end % 8 == 0 || got.end == scale_count(plan)) << got.end;
    EXPECT_GE(got.begin, 0);
    EXPECT_LE(got.end, scale_count(plan));
  });
}

TEST(ScalesOf, AWholeTensorIsAllItsScales) {
  for_random_ranges(4, [](const Granular&, const Plan& plan, Range) {
    if (element_count(plan) == 0) return;
    EXPECT_EQ(scales_of(plan, {0, element_count(plan)}), (Range{0, scale_count(plan)}));
  });
}

TEST(ScalesOf, AnEmptyRangeNeedsNone) {
  const Plan plan{.granularity = Granularity::per_axis, .outer = 4, .axis = 64, .inner = 1};
  EXPECT_EQ(scales_of(plan, {8, 8}), (Range{0, 0}));
}

TEST(ScalesOf, AShortRangeOfALargeTensorNeedsFew) {
  const Plan blocked{.granularity = Granularity::blocked,
                     .outer = int64_t{1} << 20,
                     .axis = 4096,
                     .inner = 1,
                     .block = 32};
  // Elements 4096 * 1000 + [0, 512) lie in blocks 128 * 1000 + [0, 16).
  EXPECT_EQ(scales_of(blocked, {4096000, 4096512}), (Range{128000, 128016}));
  const Plan last{.granularity = Granularity::per_axis, .outer = 1000, .axis = 4096, .inner = 1};
  EXPECT_EQ(scales_of(last, {4096, 4096 + 16}), (Range{0, 16}));
  EXPECT_EQ(scales_of(last, {4088, 4104}), (Range{0, 4096}))
      << "the end of a row and the next start";
}

TEST(Runs, PerTensorIsOneRun) {
  const Plan plan{.inner = 100};
  EXPECT_EQ(spans_of(plan, {0, 100}), (std::vector<ScaleSpan>{{0, 100, 0, 100}}));
  EXPECT_EQ(spans_of(plan, {8, 24}), (std::vector<ScaleSpan>{{8, 16, 0, 100}}));
}

TEST(Runs, PerAxisLastDimensionBecomesVaryingRuns) {
  const Plan plan{.granularity = Granularity::per_axis, .outer = 2, .axis = 5, .inner = 1};
  EXPECT_EQ(spans_of(plan, {0, 10}), (std::vector<ScaleSpan>{{0, 5, 0, 0}, {5, 5, 0, 0}}));
  EXPECT_EQ(spans_of(plan, {3, 7}), (std::vector<ScaleSpan>{{3, 2, 3, 0}, {5, 2, 0, 0}}));
}

TEST(Runs, PerAxisFirstDimensionsBecomeRunsOfTheInnerSize) {
  const Plan plan{.granularity = Granularity::per_axis, .outer = 2, .axis = 3, .inner = 4};
  EXPECT_EQ(spans_of(plan, {0, 24}), (std::vector<ScaleSpan>{{0, 12, 0, 4}, {12, 12, 0, 4}}));
  // A range that starts in a group finishes that group alone.
  EXPECT_EQ(spans_of(plan, {6, 15}),
            (std::vector<ScaleSpan>{{6, 2, 1, 4}, {8, 4, 2, 4}, {12, 3, 0, 4}}));
}

TEST(Runs, BlocksOfTheLastDimensionBecomeRunsOfTheBlock) {
  const Plan plan{
      .granularity = Granularity::blocked, .outer = 2, .axis = 5, .inner = 1, .block = 2};
  EXPECT_EQ(spans_of(plan, {0, 10}), (std::vector<ScaleSpan>{{0, 5, 0, 2}, {5, 5, 3, 2}}));
}

TEST(Runs, BlocksOfOtherDimensionsBecomeVaryingRunsOfTheInnerSize) {
  const Plan plan{
      .granularity = Granularity::blocked, .outer = 1, .axis = 3, .inner = 4, .block = 2};
  EXPECT_EQ(spans_of(plan, {0, 12}),
            (std::vector<ScaleSpan>{{0, 4, 0, 0}, {4, 4, 0, 0}, {8, 4, 4, 0}}));
}

}  // namespace
}  // namespace dequant::scale_spans_test
