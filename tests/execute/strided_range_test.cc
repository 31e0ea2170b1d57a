// run_range() of strided plans, on buffers that hold just the slices of a range, gives its elements
// the bits that run() gives.
#include <gtest/gtest.h>

#include "dequant/isa.h"
#include "support/expect_error.h"
#include "support/forced_target.h"
#include "support/guarded_buffer.h"
#include "support/strided.h"

namespace dequant::strided_range_test {
namespace {

using testing::Bytes;
using testing::Dimensions;
using testing::expected;
using testing::is_invalid;
using testing::Random;
using testing::random_cases;
using testing::random_dimensions;
using testing::random_strided_types;
using testing::random_tensors;
using testing::succeeds;
using testing::Tensors;

Plan random_range_plan(Random& random, Dimensions dimensions) {
  Plan plan = random_strided_types(random);
  plan.granularity = Granularity::strided;
  plan.dimensions = std::move(dimensions);
  return plan;
}

/// Up to four dimensions of few indices.
Dimensions few_dimensions(Random& random, int64_t room) {
  Dimensions dimensions(static_cast<size_t>(random.in(1, 4)));
  for (Dimension& d : dimensions) {
    d.size = random.in(1, std::min<int64_t>(room, 5));
    room /= d.size;
  }
  testing::random_strides(random, dimensions, &Dimension::x, true);
  testing::random_strides(random, dimensions, &Dimension::scale, true);
  testing::random_strides(random, dimensions, &Dimension::zero_point, true);
  testing::random_strides(random, dimensions, &Dimension::y, false);
  return dimensions;
}

/// What slices_of() promises, by the definition: the offsets of every element of the range.
Slices slices_by_definition(const Plan& plan, Range elements) {
  Slices out;
  const auto slice = [&](int64_t Dimension::*stride, int64_t multiple) {
    Range r{INT64_MAX, 0};
    for (int64_t i = elements.begin; i < elements.end; ++i) {
      int64_t at = testing::start(plan.dimensions, stride);
      int64_t rest = i;
      for (size_t d = plan.dimensions.size(); d-- > 0; rest /= plan.dimensions[d].size) {
        at += rest % plan.dimensions[d].size * (plan.dimensions[d].*stride);
      }
      r = {std::min(r.begin, at / multiple * multiple), std::max(r.end, at + 1)};
    }
    return r;
  };
  if (elements.begin == elements.end) return out;
  out.x = slice(&Dimension::x, 8);
  out.scale = slice(&Dimension::scale, 8);
  if (plan.has_zero_point) out.zero_point = slice(&Dimension::zero_point, 8);
  out.y = slice(&Dimension::y, 1);
  return out;
}

/// Memory for slices, each between two guards: at the end of a page or at its start.
class Slots {
 public:
  /// Copies the slices, runs the range, and puts y where it belongs.
  Status run(const Plan& plan, Range elements, Tensors& t, bool at_end, const RunOptions& options) {
    const Slices s = slices_of(plan, elements);
    const auto put = [&](const testing::GuardedBuffer& slot, Element element, const Bytes& all,
                         Range slice) {
      const Range bytes = bytes_of(element, slice);
      const auto size = static_cast<size_t>(bytes.end - bytes.begin);
      auto* to = reinterpret_cast<std::byte*>(at_end ? slot.before_end(size) : slot.begin());
      std::copy(all.begin() + bytes.begin, all.begin() + bytes.end, to);
      return std::span(to, size);
    };
    const Buffers buffers{.x = put(x_, plan.input, t.x, s.x),
                          .scale = put(scale_, plan.scale, t.scale, s.scale),
                          .zero_point = put(zero_, plan.input, t.zero_point, s.zero_point),
                          .y = put(y_, plan.output, t.y, s.y)};
    DEQUANT_CHECK(run_range(plan, elements, buffers, options));
    std::copy(buffers.y.begin(), buffers.y.end(), t.y.begin() + bytes_of(plan.output, s.y).begin);
    return {};
  }

 private:
  static constexpr size_t kBytes = 1 << 19;
  testing::GuardedBuffer x_{kBytes};
  testing::GuardedBuffer scale_{kBytes};
  testing::GuardedBuffer zero_{kBytes};
  testing::GuardedBuffer y_{kBytes};
};

/// All elements in ranges of random lengths.
void expect_ranges(Slots& slots, Random& random, const Plan& plan, int64_t most,
                   const RunOptions& options = {}) {
  Tensors t = random_tensors(random, plan, 0);
  const Bytes want = expected(plan, plan.dimensions, t);
  const int64_t count = element_count(plan);
  for (int64_t begin = 0; begin < count;) {
    const int64_t end = std::min(count, begin + random.in(1, most));
    ASSERT_TRUE(succeeds(slots.run(plan, {begin, end}, t, random.coin(), options)));
    begin = end;
  }
  ASSERT_TRUE(t.y == want) << to_string(plan);
}

TEST(StridedRange, EveryRangeOfSmallPlansHasTheBitsOfTheWholeAndWritesNothingElse) {
  Random random(1);
  Slots slots;
  for (int i = 0; i < random_cases(300); ++i) {
    const testing::ForcedTarget forced(targets()[static_cast<size_t>(i) % targets().size()]);
    const Plan plan = random_range_plan(random, few_dimensions(random, 40));
    const int64_t count = element_count(plan);
    const Tensors t = random_tensors(random, plan, 0);
    for (int64_t begin = 0; begin <= count; ++begin) {
      for (int64_t end = begin; end <= count; ++end) {
        const Slices slices = slices_of(plan, {begin, end});
        ASSERT_TRUE(slices == slices_by_definition(plan, {begin, end}));
        // What the range has in the whole, and nothing else.
        Tensors part = t;
        ASSERT_TRUE(succeeds(slots.run(plan, {begin, end}, part, random.coin(), {})));
        const Bytes want = testing::expected(plan, plan.dimensions, t, {begin, end});
        ASSERT_TRUE(part.y == want) << to_string(plan) << ": " << begin << " to " << end;
      }
    }
  }
}

TEST(StridedRange, EveryElementTypeIsCutAnywhere) {
  Random random(2);
  Slots slots;
  for (const Element x : elements()) {
    if (!is_input(x)) continue;
    for (int i = 0; i < 12; ++i) {
      Plan plan = random_range_plan(random, few_dimensions(random, 60));
      plan.input = x;
      plan.has_zero_point = i % 3 != 0;
      plan.implicit_zero_point = 0;
      const int64_t count = element_count(plan);
      const Tensors t = random_tensors(random, plan, 0);
      for (int64_t begin = 0; begin < count; ++begin) {
        const Range range{begin, random.in(begin + 1, count)};
        Tensors part = t;
        ASSERT_TRUE(succeeds(slots.run(plan, range, part, random.coin(), {})));
        ASSERT_TRUE(part.y == testing::expected(plan, plan.dimensions, t, range))
            << to_string(plan);
      }
    }
  }
}

TEST(StridedRange, RangesJoinedAreTheTensorOnEveryTargetWithEitherStore) {
  Random random(3);
  Slots slots;
  for (const std::string_view target : targets()) {
    const testing::ForcedTarget forced(target);
    for (int i = 0; i < random_cases(400); ++i) {
      const Plan plan = random_range_plan(random, random_dimensions(random));
      if (std::max(extents(plan).x, extents(plan).y) > 100'000) continue;
      const Stores stores = random.coin() ? Stores::streaming : Stores::cached;
      ASSERT_NO_FATAL_FAILURE(
          expect_ranges(slots, random, plan, random.in(1, 3000), {.stores = stores}));
    }
  }
}

// Of layouts that checkpoints have: [rows, columns] in y.
TEST(StridedRange, BandsOfCheckpointLayoutsAreTheTensor) {
  Random random(4);
  Slots slots;
  ThreadPool pool(2);
  const Dimensions layouts[] = {
      // Blocks of 32 x 16, a scale each.
      {{3, 32 * 160, 10, 10, 32 * 160}, {32, 160, 0, 0, 160}, {10, 16, 1, 1, 16}, {16, 1, 0, 0, 1}},
      // Words of eight codes along the columns, stored column by column; groups of 32.
      {{96, 8, 1, 1, 160}, {5, 3072, 96, 96, 32}, {4, 768, 0, 0, 8}, {8, 1, 0, 0, 1}},
      // Words of eight codes along the rows, in the order 0 2 4 6 1 3 5 7, stored column by column.
      {{12, 8, 8, 8, 1280},
       {4, 1, 2, 1, 320},
       {2, 4, 1, 4, 160},
       {5, 96 * 32, 96, 96, 32},
       {32, 96, 0, 0, 1}},
      // A transpose with gaps in y.
      {{96, 1, 1, 1, 200}, {160, 96, 0, 0, 1}},
  };
  for (const Dimensions& dimensions : layouts) {
    for (const Element x : {Element::uint4, Element::int8, Element::uint2, Element::float8e4m3fn}) {
      Plan plan{.input = x, .scale = Element::float16, .has_zero_point = true};
      plan.granularity = Granularity::strided;
      plan.dimensions = dimensions;
      for (const int64_t band : {160, 480, 1600, 100}) {
        Tensors t = random_tensors(random, plan, 0);
        const Bytes want = expected(plan, dimensions, t);
        const int64_t count = element_count(plan);
        for (int64_t begin = 0; begin < count; begin += band) {
          const Range range{begin, std::min(count, begin + band)};
          ASSERT_TRUE(
              succeeds(slots.run(plan, range, t, random.coin(), {.executor = pool.executor()})));
        }
        ASSERT_TRUE(t.y == want) << to_string(plan);
      }
    }
  }
}

TEST(StridedRange, RangesOfSeveralChunksGiveTheSpecifiedBits) {
  Random random(5);
  ThreadPool pool(2);
  const Dimensions list[] = {
      {{300, 1, 0, 0, 1024}, {1000, 300, 1, 0, 1}},
      {{3, 100000, 1, 0, 300000}, {100, 1000, 0, 0, 2000}, {999, 1, 0, 0, 2}},
      {{300, 1001, 3, 0, 1001}, {1001, 1, 0, 0, 1}}};
  for (const Dimensions& dimensions : list) {
    for (const Element x : {Element::uint8, Element::int4, Element::float8e5m2}) {
      Plan plan{.input = x, .has_zero_point = true};
      plan.granularity = Granularity::strided;
      plan.dimensions = dimensions;
      const Tensors t = random_tensors(random, plan, 0);
      const Range range{12'345, element_count(plan) - 678};
      const Slices s = slices_of(plan, range);
      const auto cut = [](Element element, const Bytes& all, Range slice) {
        const Range bytes = bytes_of(element, slice);
        return Bytes(all.begin() + bytes.begin, all.begin() + bytes.end);
      };
      Bytes y = cut(plan.output, t.y, s.y);
      ASSERT_TRUE(succeeds(run_range(plan, range,
                                     {cut(x, t.x, s.x), cut(plan.scale, t.scale, s.scale),
                                      cut(x, t.zero_point, s.zero_point), y},
                                     {.executor = pool.executor()})));
      ASSERT_TRUE(y == cut(plan.output, expected(plan, dimensions, t, range), s.y));
    }
  }
}

TEST(StridedRange, ReachesTheEndOfTensorsTooLargeForMemory) {
  // [2^30, 2^14] of int4, blocks of 2^7 x 2^7, rows padded to 2^15 in x.
  Plan plan{.input = Element::int4};
  plan.granularity = Granularity::strided;
  plan.dimensions = {{int64_t{1} << 23, int64_t{1} << 22, 128, 0, int64_t{1} << 21},
                     {128, int64_t{1} << 15, 0, 0, int64_t{1} << 14},
                     {128, 128, 1, 0, 128},
                     {128, 1, 0, 0, 1}};
  const int64_t count = element_count(plan);
  ASSERT_EQ(count, int64_t{1} << 44);
  const Range range{count - 200, count};
  const Slices s = slices_of(plan, range);
  EXPECT_EQ(s.x.end - s.x.begin, 200);
  EXPECT_EQ(s.scale.end, int64_t{1} << 30);
  const Bytes x(100, std::byte{0x21});
  std::vector<uint32_t> scales(static_cast<size_t>(s.scale.end - s.scale.begin));
  scales.back() = testing::bits_of(0.5F);
  Bytes y(800);
  ASSERT_TRUE(succeeds(run_range(plan, range, {x, testing::pack(plan.scale, scales), {}, y})));
  for (int64_t i = 0; i < 200; ++i) {
    const float want = i < 72 ? 0.0F : i % 2 == 0 ? 0.5F : 1.0F;
    EXPECT_EQ(testing::float_of(testing::code_at(plan.output, y, i)), want) << i;
  }
}

TEST(StridedRange, RefusesBuffersThatDoNotHoldTheSlicesAndWritesNothing) {
  // y of [6, 8], x transposed, a scale and a zero point for each row.
  Plan plan{.input = Element::int4, .has_zero_point = true};
  plan.granularity = Granularity::strided;
  plan.dimensions = {{6, 1, 1, 1, 8}, {8, 6, 0, 0, 1}};
  const Range rows{16, 32};
  ASSERT_EQ(slices_of(plan, rows),
            (Slices{.x = {0, 46}, .scale = {0, 4}, .zero_point = {0, 4}, .y = {16, 32}}));
  const Bytes x(23);
  const Bytes scale(16);
  const Bytes zero(2);
  Bytes y(64, testing::kUntouched);
  const auto less = [](auto& bytes) { return std::span(bytes).first(bytes.size() - 1); };
  EXPECT_TRUE(is_invalid(run_range(plan, rows, {less(x), scale, zero, y}), "x: 22 bytes"));
  EXPECT_TRUE(is_invalid(run_range(plan, rows, {x, less(scale), zero, y}), "scale: 15 bytes"));
  EXPECT_TRUE(is_invalid(run_range(plan, rows, {x, scale, less(zero), y}), "zero_point: 1 bytes"));
  EXPECT_TRUE(is_invalid(run_range(plan, rows, {x, scale, zero, less(y)}), "y: 63 bytes"));
  EXPECT_TRUE(is_invalid(run_range(plan, rows, {y, scale, zero, y}), "overlaps x"));
  EXPECT_EQ(y, Bytes(64, testing::kUntouched));
  EXPECT_TRUE(succeeds(run_range(plan, rows, {x, scale, zero, y})));
}

}  // namespace
}  // namespace dequant::strided_range_test
