// Hostile strides of a Plan: what a C++ caller can say and a dialect cannot. Refused before the
// first write, by one message on every target.
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "dequant/isa.h"
#include "support/expect_error.h"
#include "support/forced_target.h"
#include "support/guarded_buffer.h"
#include "support/packed.h"

namespace dequant::strided_hostile_test {
namespace {

using testing::Bytes;
using testing::is_invalid;
using testing::succeeds;

constexpr std::byte kUntouched{0xA5};
constexpr int64_t kMax = INT64_MAX;
constexpr int64_t kMin = INT64_MIN;

/// uint8 with one float32 scale of 1, unless the dimensions give it a stride.
Plan plan_of(std::vector<Dimension> dimensions) {
  Plan plan;
  plan.granularity = Granularity::strided;
  plan.dimensions = std::move(dimensions);
  return plan;
}

/// Refused with that word for buffers that would hold any honest plan of these tests.
void expect_refused(const Plan& plan, std::string_view word) {
  const Bytes input(4096);
  std::string said;
  for (const std::string_view target : targets()) {
    const testing::ForcedTarget forced(target);
    Bytes y(4096, kUntouched);
    const Status status = run(plan, {input, input, {}, y});
    ASSERT_TRUE(is_invalid(status, word)) << target;
    EXPECT_EQ(y, Bytes(4096, kUntouched));
    EXPECT_TRUE(said.empty() || said == status.error().message);
    said = status.error().message;
  }
}

/// The output of a plan on x = 0, 1, 2, ... and scales 1, 2, 3, ..., as numbers; untouched ones are
/// -1.
std::vector<float> output_of(const Plan& plan) {
  const Extents e = extents(plan);
  Bytes x;
  for (int64_t i = 0; i < e.x; ++i) x.push_back(static_cast<std::byte>(i));
  std::vector<float> scale;
  for (int64_t i = 0; i < e.scale; ++i) scale.push_back(static_cast<float>(i + 1));
  std::vector<float> first;
  for (const std::string_view target : targets()) {
    const testing::ForcedTarget forced(target);
    std::vector<float> y(static_cast<size_t>(e.y), -1.0F);
    EXPECT_TRUE(succeeds(
        run(plan, {x, std::as_bytes(std::span(scale)), {}, std::as_writable_bytes(std::span(y))})));
    if (first.empty()) first = y;
    EXPECT_EQ(y, first) << target;
  }
  return first;
}

using Floats = std::vector<float>;

TEST(HostileStrides, NegativeOnesCountDownFromTheLast) {
  EXPECT_EQ(output_of(plan_of({{4, -1, 0, 0, 1}})), (Floats{3, 2, 1, 0}));
  EXPECT_EQ(output_of(plan_of({{2, 3, 0, 0, 3}, {3, -1, 0, 0, 1}})), (Floats{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(output_of(plan_of({{2, -3, 0, 0, 3}, {3, 1, 0, 0, 1}})), (Floats{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(output_of(plan_of({{2, -3, 0, 0, 3}, {3, -1, 0, 0, 1}})), (Floats{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(output_of(plan_of({{3, 1, -1, 0, 1}})), (Floats{0, 2, 2})) << "x 0 1 2, scale 3 2 1";
}

TEST(HostileStrides, ZeroRepeats) {
  EXPECT_EQ(output_of(plan_of({{2, 0, 0, 0, 3}, {3, 1, 0, 0, 1}})), (Floats{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(output_of(plan_of({{2, 1, 0, 0, 3}, {3, 0, 1, 0, 1}})), (Floats{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(output_of(plan_of({{2, 1, 0, 0, 1}, {3, 2, 0, 0, 2}})), (Floats{0, 1, 2, 3, 4, 5}));
}

TEST(HostileStrides, NegativeOnesReadNothingBeyondTheEnds) {
  const testing::GuardedBuffer x(4096);
  const testing::GuardedBuffer y(4096 * 4);
  const float one = 1.0F;
  const auto scale = std::as_bytes(std::span(&one, 1));
  for (const int64_t step : {-1, -2, -3, -7}) {
    for (const int64_t count : {1, 2, 15, 16, 17, 63, 64, 65, 200, 511}) {
      const Plan plan = plan_of({{count, step, 0, 0, 1}});
      const auto x_bytes = static_cast<size_t>(extents(plan).x);
      const auto y_bytes = static_cast<size_t>(count) * 4;
      for (size_t i = 0; i < x_bytes; ++i) x.before_end(x_bytes)[i] = static_cast<uint8_t>(i);
      for (size_t i = 0; i < x_bytes; ++i) x.begin()[i] = static_cast<uint8_t>(i);
      for (const bool at_end : {false, true}) {
        const uint8_t* in = at_end ? x.before_end(x_bytes) : x.begin();
        uint8_t* out = at_end ? y.before_end(y_bytes) : y.begin();
        ASSERT_TRUE(succeeds(run(plan, {std::as_bytes(std::span(in, x_bytes)),
                                        scale,
                                        {},
                                        std::as_writable_bytes(std::span(out, y_bytes))})));
        float last = 0;
        std::memcpy(&last, out + y_bytes - 4, 4);
        EXPECT_EQ(last, static_cast<float>(in[0])) << "the last element is the first in memory";
      }
    }
  }
}

TEST(HostileStrides, OutputsWhoseElementsOverlapAreRefused) {
  for (const int64_t stride : {int64_t{0}, int64_t{-1}, kMin}) {
    expect_refused(plan_of({{4, 1, 0, 0, stride}}), "y: ");
  }
  expect_refused(plan_of({{2, 3, 0, 0, 2}, {3, 1, 0, 0, 1}}), "y: a stride of 2");
  expect_refused(plan_of({{2, 3, 0, 0, 1}, {3, 1, 0, 0, 1}}), "y: a stride of 1");
  expect_refused(plan_of({{2, 3, 0, 0, 0}, {3, 1, 0, 0, 1}}), "y: a stride of 0");
  // Elements that interleave without meeting: refused too, as the plan's comment says.
  expect_refused(plan_of({{2, 3, 0, 0, 3}, {3, 1, 0, 0, 2}}), "y: a stride of 3");
}

TEST(HostileStrides, AnyOutputStrideOfOneIndexIsHarmless) {
  for (const int64_t stride : {int64_t{0}, int64_t{-5}, int64_t{1}, kMax, kMin + 1}) {
    EXPECT_EQ(output_of(plan_of({{1, stride, stride, 0, stride}, {3, 1, 0, 0, 1}})),
              (Floats{0, 1, 2}))
        << stride;
  }
  // Whose size no int64 holds.
  expect_refused(plan_of({{1, 0, 0, 0, kMin}}), "y: a stride of -9223372036854775808");
}

TEST(HostileStrides, AnyStrideOfOneIndexWithALongerBlockIsHarmless) {
  for (const int64_t block : {int64_t{2}, int64_t{22}, kMax}) {
    Dimension one{.size = 1, .x = kMax / 4, .scale = kMax / 4, .y = kMax / 4, .block = block};
    const Dimension row{.size = 3, .x = 1, .y = 1};
    EXPECT_EQ(output_of(plan_of({one, row})), (std::vector<float>{0, 1, 2})) << block;
    one.x = 1 - kMax / 4;
    EXPECT_EQ(output_of(plan_of({one, row})), (std::vector<float>{0, 1, 2})) << block;
  }
}

TEST(HostileStrides, ReachThatOverflowsIsRefused) {
  int64_t Dimension::*const fields[] = {&Dimension::x, &Dimension::scale, &Dimension::zero_point,
                                        &Dimension::y};
  for (const auto field : fields) {
    for (const int64_t stride : {kMax, kMin, kMin + 1, kMax / 2 + 1, kMin / 2 - 1}) {
      Dimension d{3, 1, 0, 0, 1};
      d.*field = stride;
      expect_refused(plan_of({d}), "");
      // Two strides that fit on their own, and not together.
      Dimension a{2, 1, 0, 0, 1};
      Dimension b{2, 2, 0, 0, 2};
      a.*field = kMax - 1;
      b.*field = kMax - 1;
      expect_refused(plan_of({a, b}), "");
    }
  }
}

TEST(HostileStrides, SizesThatOverflowOrAreNegativeAreRefused) {
  const int64_t k40 = int64_t{1} << 40;
  expect_refused(plan_of({{kMax, 0, 0, 0, 1}, {2, 0, 0, 0, kMax}}), "2^63");
  expect_refused(plan_of({{k40, 0, 0, 0, k40}, {k40, 0, 0, 0, 1}}), "2^63");
  expect_refused(plan_of({{0, 0, 0, 0, 1}, {k40, 0, 0, 0, 1}, {k40, 0, 0, 0, 1}}), "2^63");
  expect_refused(plan_of({{-1, 1, 0, 0, 1}}), "negative");
  expect_refused(plan_of({{kMin, 1, 0, 0, 1}, {0, 1, 0, 0, 1}}), "negative");
}

TEST(HostileStrides, BytesThatOverflowAreRefused) {
  // 2^62 elements of float32 take 2^64 bytes.
  const int64_t k62 = int64_t{1} << 62;
  expect_refused(plan_of({{2, 1, 0, 0, k62}}), "2^63 - 1 bytes");
  expect_refused(plan_of({{2, 1, k62, 0, 1}}), "2^63 - 1 bytes");
}

TEST(HostileStrides, TooManyDimensionsAreRefused) {
  std::vector<Dimension> dimensions(static_cast<size_t>(kMaxDimensions), Dimension{});
  EXPECT_EQ(output_of(plan_of(dimensions)), Floats{0});
  dimensions.push_back({});
  expect_refused(plan_of(dimensions), "dimensions: 25 are more than 24");
  expect_refused(plan_of({}), "dimensions");
}

TEST(HostileStrides, BuffersThatStridesReachBeyondAreRefused) {
  // x reaches 2 * 5 + 1 elements, scales 2 * 3 + 1, y 2 * 7 + 1.
  const Plan plan = plan_of({{3, 5, 3, 0, 7}, {2, 1, 0, 0, 1}});
  ASSERT_EQ(extents(plan), (Extents{.x = 12, .scale = 7, .y = 16}));
  const Bytes x(12);
  const Bytes scale(28);
  Bytes y(64, kUntouched);
  const std::span<const std::byte> in(x);
  const std::span<const std::byte> by(scale);
  EXPECT_TRUE(is_invalid(run(plan, {in.first(11), by, {}, y}), "x: 11 bytes given, 12 needed"));
  EXPECT_TRUE(is_invalid(run(plan, {in, by.first(27), {}, y}), "27 bytes given, 28 needed"));
  EXPECT_TRUE(is_invalid(run(plan, {in, by, {}, std::span(y).first(63)}), "y: 63 bytes given"));
  EXPECT_EQ(y, Bytes(64, kUntouched));
  EXPECT_TRUE(succeeds(run(plan, {in, by, {}, y})));
}

TEST(HostileStrides, NegativeStridesReachAsFarAsPositiveOnes) {
  const Plan plan = plan_of({{3, -5, -3, 0, 2}, {2, -1, 0, 0, 1}});
  EXPECT_EQ(extents(plan), (Extents{.x = 12, .scale = 7, .y = 6}));
  const Bytes x(11);
  const Bytes scale(28);
  Bytes y(24, kUntouched);
  EXPECT_TRUE(is_invalid(run(plan, {x, scale, {}, y}), "x: 11 bytes given, 12 needed"));
  EXPECT_EQ(y, Bytes(24, kUntouched));
}

TEST(HostileStrides, RangesOutsideTheDimensionsAreRefused) {
  const Bytes input(64);
  Bytes y(64, kUntouched);
  const Plan plan = plan_of({{2, 8, 0, 0, 8}, {4, 2, 0, 0, 2}});
  for (const Range outside : {Range{-1, 8}, Range{0, 9}, Range{9, 9}, Range{5, 4}, Range{0, -1},
                              Range{kMin, kMax}, Range{kMax, kMax}, Range{kMin, kMin}}) {
    EXPECT_TRUE(is_invalid(run_range(plan, outside, {input, input, {}, y}), "elements: "));
  }
  EXPECT_TRUE(succeeds(run_range(plan, {8, 8}, {{}, {}, {}, {}})));
  EXPECT_EQ(y, Bytes(64, kUntouched));
}

TEST(HostileStrides, RangesOfAPlanThatRunRefusesAreRefused) {
  const Bytes input(4096);
  Bytes y(4096, kUntouched);
  for (const Plan& plan :
       {plan_of({}), plan_of({{4, 1, 0, 0, 0}}), plan_of({{3, kMax, 0, 0, 1}}),
        plan_of({{2, 3, 0, 0, 2}, {3, 1, 0, 0, 1}}), plan_of({{-1, 1, 0, 0, 1}})}) {
    EXPECT_FALSE(run_range(plan, {0, 1}, {input, input, {}, y}));
  }
  EXPECT_EQ(y, Bytes(4096, kUntouched));
}

}  // namespace
}  // namespace dequant::strided_hostile_test
