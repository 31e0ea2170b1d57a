// Rules of ranges whose elements have a range each, as of the last axis of a tensor: which plans
// the kernel of ranges takes, and that it gives the bits of run().
#include <gtest/gtest.h>

#include <array>

#include "cuda/fast_cases.h"

namespace dequant::cuda_ranges_test {
namespace {

using testing::Aligned;
using testing::Bytes;
using testing::bytes_for;
using testing::is_fast;
using testing::pack;
using testing::Random;
using testing::same_on_device;
using enum Element;

constexpr std::array kInputs{uint8, int8, uint16, int16, int32};
constexpr std::array kRules{Rule::min_combined, Rule::scaled, Rule::scaled_narrow_range};

/// Ranges of columns, some of them with NaN, infinity and scales that overflow.
class RangesOfColumns {
 public:
  RangesOfColumns(Random& random, Element input, Rule rule, Element output, int64_t rows,
                  int64_t columns) {
    plan = {.input = input, .output = output, .outer = rows, .axis = columns};
    plan.granularity = Granularity::per_axis;
    plan.rule = rule;
    for (Bytes* ranges : {&low_, &high_}) {
      std::vector<uint32_t> values(static_cast<size_t>(columns));
      for (uint32_t& v : values) {
        constexpr std::array kEdges{0.0F, -0.0F, 1.0F, -3e38F, 3e38F, 1e-40F, INFINITY, NAN};
        v = testing::bits_of(random.in(0, 5) == 0 ? random.of(kEdges)
                                                  : static_cast<float>(random.in(-999, 999)) / 64);
      }
      *ranges = pack(float32, values);
    }
    x_ = testing::random_bytes(random, bytes_for(input, rows * columns));
    y_ = Bytes(bytes_for(output, rows * columns), testing::kUntouched);
  }

  Buffers buffers() {
    return {.x = x_, .scale = {}, .zero_point = {}, .y = y_, .min_range = low_, .max_range = high_};
  }

  /// Whether copies of the buffers have a fast kernel, with ranges after so many unused bytes.
  bool is_fast_with_ranges_at(size_t misaligned) {
    Bytes x = x_, y = y_, low = low_, high = high_;
    for (Bytes* ranges : {&low, &high}) ranges->insert(ranges->begin(), misaligned, std::byte{});
    const auto placed = [&](Bytes& ranges) { return Aligned::place(ranges).subspan(misaligned); };
    const Buffers b{.x = Aligned::place(x),
                    .scale = {},
                    .zero_point = {},
                    .y = Aligned::place(y),
                    .min_range = placed(low),
                    .max_range = placed(high)};
    return is_fast(plan, {0, element_count(plan)}, b);
  }

  Plan plan;

 private:
  Bytes x_, y_, low_, high_;
};

/// Numbers of rows that threads take by eight, by four and one by one.
TEST(CudaRanges, TakeARangeForEachElement) {
  Random random(401);
  for (const Element input : kInputs) {
    for (const Rule rule : kRules) {
      for (const Element output : {float32, float16, bfloat16}) {
        for (const int64_t rows : {1, 7, 12, 64}) {
          for (const int64_t columns : {24, 64}) {
            RangesOfColumns r(random, input, rule, output, rows, columns);
            EXPECT_TRUE(r.is_fast_with_ranges_at(0)) << to_string(r.plan);
            const Range whole{0, element_count(r.plan)};
            ASSERT_TRUE(same_on_device(r.plan, whole, r.buffers(), 0));
            ASSERT_TRUE(same_on_device(r.plan, whole, r.buffers(), 4));
            const Range part{random.in(0, whole.end), whole.end};
            ASSERT_TRUE(
                same_on_device(r.plan, part, testing::slices_of(r.plan, part, r.buffers()), 0));
          }
        }
      }
    }
  }
}

TEST(CudaRanges, AreLeftWhereTheyAreNoWholeVectors) {
  Random random(402);
  RangesOfColumns aligned(random, uint8, Rule::scaled, float32, 8, 64);
  EXPECT_TRUE(aligned.is_fast_with_ranges_at(16));
  EXPECT_FALSE(aligned.is_fast_with_ranges_at(4));
  RangesOfColumns odd(random, uint8, Rule::scaled, float32, 8, 62);
  EXPECT_FALSE(odd.is_fast_with_ranges_at(0));
}

}  // namespace
}  // namespace dequant::cuda_ranges_test
