// Strided plans from end to end: random placements of every tensor against a walk over all indices
// that computes each offset by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "dequant/isa.h"
#include "plan/strided.h"
#include "support/example.h"
#include "support/forced_target.h"
#include "support/guarded_buffer.h"

namespace dequant {
namespace {

using testing::Bytes;
using testing::code_at;
using testing::Random;

using Dimensions = std::vector<Dimension>;

/// Strides of one tensor: some dimensions repeat, the others are laid out in any order, with gaps.
void place(Random& random, Dimensions& dimensions, int64_t Dimension::*stride, bool input) {
  std::vector<size_t> order(dimensions.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (random.in(0, 2) == 0) {
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1],
                order[static_cast<size_t>(random.in(0, static_cast<int64_t>(i) - 1))]);
    }
  }
  int64_t next = random.in(0, 3) == 0 ? 2 : 1;
  const int64_t repeats = random.in(0, 2);  // of three dimensions
  for (size_t k = order.size(); k-- > 0;) {
    Dimension& d = dimensions[order[k]];
    if (input && random.in(0, 2) < repeats) continue;
    d.*stride = input && random.in(0, 9) == 0 ? -next : next;
    next = next * d.size + (random.in(0, 3) == 0 ? random.in(1, 5) : 0);
  }
}

Dimensions random_dimensions(Random& random) {
  Dimensions dimensions(static_cast<size_t>(random.in(1, 6)));
  int64_t room = 6000;
  for (Dimension& d : dimensions) {
    d.size = random.in(1, std::min<int64_t>(room, random.coin() ? 7 : 600));
    room /= d.size;
  }
  place(random, dimensions, &Dimension::x, true);
  place(random, dimensions, &Dimension::scale, true);
  place(random, dimensions, &Dimension::zero_point, true);
  place(random, dimensions, &Dimension::y, false);
  return dimensions;
}

struct Tensors {
  Bytes x;
  Bytes scale;
  Bytes zero_point;
  Bytes y;
};

Tensors random_tensors(Random& random, const Plan& plan, size_t slack) {
  const Extents e = extents(plan);
  Tensors t;
  t.x = testing::random_bytes(random, testing::bytes_for(plan.input, e.x) + slack);
  t.scale = testing::random_scales(random, plan.scale, e.scale);
  if (plan.has_zero_point) {
    t.zero_point = testing::random_zero_points(random, plan.input, e.zero_point);
  }
  t.y.assign(testing::bytes_for(plan.output, e.y) + slack, testing::kUntouched);
  return t;
}

/// Where the element of index 0 everywhere lies: negative strides count down from there.
int64_t start(const Dimensions& dimensions, int64_t Dimension::*stride) {
  int64_t at = 0;
  for (const Dimension& d : dimensions) {
    if (d.*stride < 0) at -= (d.size - 1) * (d.*stride);
  }
  return at;
}

/// The output by the definition: every index in turn, every offset computed by itself.
Bytes expected(const Plan& plan, const Dimensions& dimensions, const Tensors& t) {
  Bytes y = t.y;
  int64_t count = 1;
  for (const Dimension& d : dimensions) count *= d.size;
  const size_t size = testing::bytes_for(plan.output, 1);
  const auto origin_of = [&](auto stride) { return start(dimensions, stride); };
  const Dimension origin{0, origin_of(&Dimension::x), origin_of(&Dimension::scale),
                         origin_of(&Dimension::zero_point), origin_of(&Dimension::y)};
  std::array<int64_t, kMaxDimensions> index{};
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t d = dimensions.size(); d-- > 0; rest /= dimensions[d].size) {
      index[d] = rest % dimensions[d].size;
    }
    const auto offset = [&](int64_t Dimension::*stride) {
      int64_t at = origin.*stride;
      for (size_t d = 0; d < dimensions.size(); ++d) at += index[d] * (dimensions[d].*stride);
      return at;
    };
    const float scale =
        float_value(plan.scale, code_at(plan.scale, t.scale, offset(&Dimension::scale)));
    int64_t zero = plan.implicit_zero_point;
    if (plan.has_zero_point && kind(plan.input) != Kind::floating) {
      const uint32_t code = code_at(plan.input, t.zero_point, offset(&Dimension::zero_point));
      zero = integer_value(plan.input, code);
    }
    const uint32_t code = reference_dequantize(
        plan.input, code_at(plan.input, t.x, offset(&Dimension::x)), zero, scale, plan.output);
    std::memcpy(y.data() + static_cast<size_t>(offset(&Dimension::y)) * size, &code, size);
  }
  return y;
}

Plan random_plan(Random& random) {
  const testing::Types types = testing::random_types(random);
  Plan plan{.input = types.x, .scale = types.scale, .output = types.y};
  plan.has_zero_point = types.zero_point;
  if (!types.zero_point && kind(types.x) != Kind::floating) {
    const bool is_signed = kind(types.x) == Kind::signed_integer;
    plan.implicit_zero_point =
        static_cast<int32_t>(random.in(is_signed ? -2 : 0, is_signed ? 1 : 3));
  }
  return plan;
}

void expect_same(const Plan& plan, const Dimensions& dimensions, Random& random,
                 const RunOptions& options = {}) {
  Tensors t = random_tensors(random, plan, 0);
  const Bytes want = expected(plan, dimensions, t);
  const Status status = run(plan, {t.x, t.scale, t.zero_point, t.y}, options);
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_TRUE(t.y == want) << to_string(plan);
}

TEST(Strided, GivesRandomPlacementsTheSpecifiedBitsAndLeavesGapsAlone) {
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    const Dimensions dimensions = random_dimensions(random);
    auto plan = strided_plan(random_plan(random), dimensions);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_NO_FATAL_FAILURE(expect_same(*plan, dimensions, random));
  }
}

TEST(Strided, GivesDimensionsInAnyOrderTheSameBits) {
  Random random(2);
  for (int i = 0; i < 1500; ++i) {
    Plan plan = random_plan(random);
    plan.granularity = Granularity::strided;
    plan.dimensions = random_dimensions(random);
    ASSERT_NO_FATAL_FAILURE(expect_same(plan, plan.dimensions, random));
  }
}

TEST(Strided, GivesTheSameBitsOnEveryTargetWithEitherStore) {
  Random random(3);
  for (const std::string_view target : targets()) {
    const testing::ForcedTarget forced(target);
    for (int i = 0; i < 600; ++i) {
      Plan plan = random_plan(random);
      plan.granularity = Granularity::strided;
      plan.dimensions = random_dimensions(random);
      const Stores stores = random.coin() ? Stores::streaming : Stores::cached;
      ASSERT_NO_FATAL_FAILURE(expect_same(plan, plan.dimensions, random, {.stores = stores}));
    }
  }
}

/// Placements each of which takes another way; the random ones are too small for some.
const Dimensions kWays[] = {
    {{2, 40 * 700, 0, 0, 40 * 700}, {40, 1, 1, 1, 700}, {700, 40, 0, 0, 1}},  // NHWC to NCHW
    {{2, 40 * 700, 0, 0, 40 * 700}, {700, 1, 0, 0, 40}, {40, 700, 1, 1, 1}},  // and back
    {{300, 1, 0, 0, 300}, {300, 301, 1, 0, 1}},                               // a scale per column
    {{70, 1, 3, 1, 523}, {517, 71, 1, 2, 1}},                           // sides on both, y apart
    {{30, -1, -1, 0, 40}, {33, 30, 0, 1, 1}},                           // backwards along x
    {{19, 2, 0, 0, 17 * 21}, {21, 40, 0, 1, 17}, {17, -840, 0, 0, 1}},  // three, reversed
    {{40, 1, 0, 0, 600}, {600, -40, 0, 0, 1}},                          // one scale
    {{9, 144, 0, 0, 128}, {2, 72, 1, 0, 64}, {64, 1, 0, 0, 1}},         // rows of 64 with gaps
    {{4, 1000, 16, 0, 640},
     {5, 150, 0, 0, 128},
     {4, 36, 4, 1, 32},
     {4, 8, 0, 0, 8},
     {4, 1, 1, 1, 1}},
    {{7, 130, 0, 0, 90}, {3, 40, 2, 1, 30}, {29, 1, 0, 0, 1}},  // odd rows, y apart
    {{600, 2, 0, 0, 3}, {2, 1, 1, 1, 1}},                       // rows of two
    {{1100, 0, 1, 1, 2}, {1, 5, 5, 5, 1}},                      // one code, y apart
    {{3, 1200, 0, 0, 1100}, {1025, 1, 2, 1, 1}},                // more than a tile
    {{2, 11049, 0, 0, 10800},                                   // boxes that repeat sides, twice
     {3, 3683, 900, 0, 3600},
     {4, 920, 0, 0, 900},
     {3, 305, 300, 300, 300},
     {300, 1, 1, 1, 1}},
};

TEST(Strided, EveryWayGivesTheSpecifiedBitsOfEveryElement) {
  Random random(6);
  size_t turn = 0;
  for (const Dimensions& dimensions : kWays) {
    for (const Element x : elements()) {
      if (!is_input(x)) continue;
      Plan plan{.input = x};
      plan.granularity = Granularity::strided;
      plan.dimensions = dimensions;
      plan.output = std::array{Element::float32, Element::float16, Element::bfloat16}[turn % 3];
      plan.scale = std::array{Element::float16, Element::float32}[turn % 2];
      plan.has_zero_point = turn % 5 != 0;
      const testing::ForcedTarget forced(targets()[turn % targets().size()]);
      const Stores stores = turn % 7 < 4 ? Stores::streaming : Stores::cached;
      ASSERT_NO_FATAL_FAILURE(expect_same(plan, dimensions, random, {.stores = stores}));
      ++turn;
    }
  }
}

// Kernels may take all of these rows at once.
TEST(Strided, GivesRowsThatShareASideForEachElementTheSpecifiedBits) {
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
  for (int i = 0; i < 1000; ++i) {
    Plan plan = random_plan(random);
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
}  // namespace dequant
