// Strided plans from end to end: random strides of every tensor against a loop over all indices
// that computes each offset by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "dequant/isa.h"
#include "plan/strided.h"
#include "support/forced_target.h"
#include "support/guarded_buffer.h"
#include "support/strided.h"

namespace dequant::strided_test {
namespace {

using testing::Bytes;
using testing::Dimensions;
using testing::expected;
using testing::Random;
using testing::random_cases;
using testing::random_dimensions;
using testing::random_strided_types;
using testing::random_tensors;
using testing::Tensors;

void expect_same(const Plan& plan, const Dimensions& dimensions, Random& random,
                 const RunOptions& options = {}) {
  Tensors t = random_tensors(random, plan, 0);
  const Bytes want = expected(plan, dimensions, t);
  const Status status = run(plan, {t.x, t.scale, t.zero_point, t.y}, options);
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_TRUE(t.y == want) << to_string(plan);
}

TEST(Strided, GivesRandomStridesTheSpecifiedBitsAndLeavesGapsAlone) {
  Random random(1);
  for (int i = 0; i < random_cases(3000); ++i) {
    const Dimensions dimensions = random_dimensions(random);
    auto plan = strided_plan(random_strided_types(random), dimensions);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_NO_FATAL_FAILURE(expect_same(*plan, dimensions, random));
  }
}

TEST(Strided, GivesDimensionsInAnyOrderTheSameBits) {
  Random random(2);
  for (int i = 0; i < random_cases(1500); ++i) {
    Plan plan = random_strided_types(random);
    plan.granularity = Granularity::strided;
    plan.dimensions = random_dimensions(random);
    ASSERT_NO_FATAL_FAILURE(expect_same(plan, plan.dimensions, random));
  }
}

TEST(Strided, GivesTheSameBitsOnEveryTargetWithEitherStore) {
  Random random(3);
  for (const std::string_view target : targets()) {
    const testing::ForcedTarget forced(target);
    for (int i = 0; i < random_cases(600); ++i) {
      Plan plan = random_strided_types(random);
      plan.granularity = Granularity::strided;
      plan.dimensions = random_dimensions(random);
      const Stores stores = random.coin() ? Stores::streaming : Stores::cached;
      ASSERT_NO_FATAL_FAILURE(expect_same(plan, plan.dimensions, random, {.stores = stores}));
    }
  }
}

/// Dimensions that together need every way; random dimensions are too small for some ways.
const Dimensions kWays[] = {
    {{2, 40 * 700, 0, 0, 40 * 700}, {40, 1, 1, 1, 700}, {700, 40, 0, 0, 1}},  // NHWC to NCHW
    {{2, 40 * 700, 0, 0, 40 * 700}, {700, 1, 0, 0, 40}, {40, 700, 1, 1, 1}},  // and back
    {{300, 1, 0, 0, 300}, {300, 301, 1, 0, 1}},                               // a scale per column
    {{70, 1, 3, 1, 523}, {517, 71, 1, 2, 1}},  // parameters on both axes, gaps in y
    {{30, -1, -1, 0, 40}, {33, 30, 0, 1, 1}},  // backwards along x
    {{19, 2, 0, 0, 17 * 21}, {21, 40, 0, 1, 17}, {17, -840, 0, 0, 1}},  // three, reversed
    {{40, 1, 0, 0, 600}, {600, -40, 0, 0, 1}},                          // one scale
    {{9, 144, 0, 0, 128}, {2, 72, 1, 0, 64}, {64, 1, 0, 0, 1}},         // rows of 64 with gaps
    {{4, 1000, 16, 0, 640},
     {5, 150, 0, 0, 128},
     {4, 36, 4, 1, 32},
     {4, 8, 0, 0, 8},
     {4, 1, 1, 1, 1}},
    {{7, 130, 0, 0, 90}, {3, 40, 2, 1, 30}, {29, 1, 0, 0, 1}},  // odd rows, gaps in y
    {{600, 2, 0, 0, 3}, {2, 1, 1, 1, 1}},                       // rows of two
    {{1100, 0, 1, 1, 2}, {1, 5, 5, 5, 1}},                      // one code, gaps in y
    {{3, 1200, 0, 0, 1100}, {1025, 1, 2, 1, 1}},                // more than a tile
    {{2, 11049, 0, 0, 10800},  // tiles that repeat parameters, twice
     {3, 3683, 900, 0, 3600},
     {4, 920, 0, 0, 900},
     {3, 305, 300, 300, 300},
     {300, 1, 1, 1, 1}},
};

TEST(Strided, EveryWayGivesTheSpecifiedBitsOfEveryElement) {
  Random random(6);
  size_t i = 0;
  for (const Dimensions& dimensions : kWays) {
    for (const Element x : elements()) {
      if (!is_input(x)) continue;
      Plan plan{.input = x};
      plan.granularity = Granularity::strided;
      plan.dimensions = dimensions;
      plan.output = std::array{Element::float32, Element::float16, Element::bfloat16}[i % 3];
      plan.scale = std::array{Element::float16, Element::float32}[i % 2];
      plan.has_zero_point = i % 5 != 0;
      const testing::ForcedTarget forced(targets()[i % targets().size()]);
      const Stores stores = i % 7 < 4 ? Stores::streaming : Stores::cached;
      ASSERT_NO_FATAL_FAILURE(expect_same(plan, dimensions, random, {.stores = stores}));
      ++i;
    }
  }
}

// A kernel may compute all of these rows in one call.
TEST(Strided, GivesRowsThatShareParamsPerElementTheSpecifiedBits) {
  Random random(7);
  const Dimensions padded{{2, 12160, 1030, 1030, 9800}, {9, 1216, 0, 0, 1088}, {1025, 1, 1, 1, 1}};
  for (const Element x : elements()) {
    if (!is_input(x)) continue;
    for (const Element y : {Element::float32, Element::float16, Element::bfloat16}) {
      for (const Stores stores : {Stores::streaming, Stores::cached}) {
        Plan plan{.input = x, .scale = y, .output = y, .has_zero_point = true};
        plan.granularity = Granularity::strided;
        plan.dimensions = padded;
        ASSERT_NO_FATAL_FAILURE(expect_same(plan, padded, random, {.stores = stores}));
      }
    }
  }
}

TEST(Strided, ChunksOfManyThreadsGiveTheSpecifiedBits) {
  Random random(4);
  ThreadPool pool(2);
  const Dimensions list[] = {
      {{300, 1, 0, 0, 1024}, {1000, 300, 1, 0, 1}},  // transposed
      {{3, 100000, 1, 0, 300000}, {100, 1000, 0, 0, 2000}, {999, 1, 0, 0, 2}},
      {{300000, 3, 0, 1, 1}},
      {{300, 1001, 3, 0, 1001}, {1001, 1, 0, 0, 1}},
  };
  for (const Dimensions& dimensions : list) {
    for (const Element x : {Element::uint8, Element::int4, Element::int32, Element::float8e5m2}) {
      auto plan = strided_plan({.input = x, .has_zero_point = true}, dimensions);
      ASSERT_TRUE(plan);
      ASSERT_NO_FATAL_FAILURE(
          expect_same(*plan, dimensions, random, {.executor = pool.executor()}));
    }
  }
}

TEST(Strided, ReadsAndWritesNothingBeyondTheExtents) {
  Random random(5);
  testing::GuardedBuffer x(1 << 16);
  testing::GuardedBuffer scale(1 << 16);
  testing::GuardedBuffer zero(1 << 16);
  testing::GuardedBuffer y(1 << 16);
  for (int i = 0; i < random_cases(1000); ++i) {
    Plan plan = random_strided_types(random);
    plan.granularity = Granularity::strided;
    plan.dimensions = random_dimensions(random);
    const Tensors t = random_tensors(random, plan, 0);
    const size_t most = x.capacity();
    if (std::max({t.x.size(), t.scale.size(), t.zero_point.size(), t.y.size()}) > most) continue;
    const auto at_end = [](const testing::GuardedBuffer& buffer, const Bytes& bytes) {
      auto* data = reinterpret_cast<std::byte*>(buffer.before_end(bytes.size()));
      std::copy(bytes.begin(), bytes.end(), data);
      return std::span(data, bytes.size());
    };
    const auto out = at_end(y, t.y);
    const Status status =
        run(plan, {at_end(x, t.x), at_end(scale, t.scale), at_end(zero, t.zero_point), out});
    ASSERT_TRUE(status) << status.error().message;
    const Bytes want = expected(plan, plan.dimensions, t);
    ASSERT_TRUE(std::equal(want.begin(), want.end(), out.begin()));
  }
}

}  // namespace
}  // namespace dequant::strided_test
