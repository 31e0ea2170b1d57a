// Hostile input: min_range and max_range of TensorFlow. Values by the formulas of docs/numerics.md.
#include <limits>

#include "c_api/hostile.h"

namespace dequant::testing::c::hostile_range_test {
namespace {

using Bits = std::vector<uint32_t>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The output bits of one pair of ranges.
Bits by_range(dequant_tensorflow_mode mode, dequant_element type, const Memory& x, float min,
              float max) {
  const auto planned = plan(
      TensorFlowNode{.input = type, .input_dims = {static_cast<int64_t>(x.size())}, .mode = mode});
  EXPECT_TRUE(succeeds(planned));
  Buffers b{.x = x, .min_range = bytes_of<float>({min}), .max_range = bytes_of<float>({max})};
  return numbers_of<uint32_t>(output_of(planned, b));
}

Bits bits(const std::vector<float>& values) { return numbers_of<uint32_t>(bytes_of(values)); }

const Memory kEnds{0, 1, 255};
const Bits kAllNan{0x7FC00000, 0x7FC00000, 0x7FC00000};

TEST(Hostile, EqualRangesDivideNothingByZero) {
  EXPECT_EQ(by_range(DEQUANT_MIN_COMBINED, DEQUANT_UINT8, kEnds, 2, 2), bits({2, 2, 2}));
  EXPECT_EQ(by_range(DEQUANT_MIN_FIRST, DEQUANT_UINT8, kEnds, 2, 2), bits({2, 2, 2}));
  EXPECT_EQ(by_range(DEQUANT_SCALED, DEQUANT_UINT8, kEnds, 255, 255), bits({0, 1, 255}));
  EXPECT_EQ(by_range(DEQUANT_MIN_FIRST, DEQUANT_UINT8, kEnds, 0, 0), bits({0, 0, 0}));
  // The scale of signed types is then 0 / -128.
  EXPECT_EQ(by_range(DEQUANT_SCALED, DEQUANT_INT8, {1, 0xFF}, 0, 0), bits({-0.0F, 0.0F}));
}

TEST(Hostile, RangesInTheWrongOrderHaveANegativeScale) {
  EXPECT_EQ(by_range(DEQUANT_MIN_COMBINED, DEQUANT_UINT8, kEnds, 254, -1), bits({254, 253, -1}));
  EXPECT_EQ(by_range(DEQUANT_MIN_FIRST, DEQUANT_UINT8, kEnds, 254, -1), bits({254, 253, -1}));
  EXPECT_EQ(by_range(DEQUANT_SCALED, DEQUANT_UINT8, kEnds, 0, -255), bits({-0.0F, -1, -255}));
  EXPECT_EQ(by_range(DEQUANT_SCALED, DEQUANT_INT8, {1, 0x80}, 256, -254), bits({-2, 256}));
}

TEST(Hostile, NanAndInfiniteRangesFollowIeee) {
  for (const auto mode : {DEQUANT_MIN_COMBINED, DEQUANT_MIN_FIRST}) {
    EXPECT_EQ(by_range(mode, DEQUANT_UINT8, kEnds, kNan, 1), kAllNan);
    EXPECT_EQ(by_range(mode, DEQUANT_UINT8, kEnds, 0, kNan), kAllNan);
    EXPECT_EQ(by_range(mode, DEQUANT_UINT8, kEnds, -kInfinity, kInfinity), kAllNan);
  }
  EXPECT_EQ(by_range(DEQUANT_SCALED, DEQUANT_UINT8, kEnds, 0, kNan), kAllNan);
  EXPECT_EQ(by_range(DEQUANT_SCALED, DEQUANT_UINT8, kEnds, kNan, 255), bits({0, 1, 255}))
      << "unsigned types have no use for min_range";
  EXPECT_EQ(by_range(DEQUANT_SCALED, DEQUANT_INT8, {0, 1, 2}, kNan, 1), kAllNan);
  const Bits infinite{0x7FC00000, 0x7F800000, 0x7F800000};
  EXPECT_EQ(by_range(DEQUANT_SCALED, DEQUANT_UINT8, kEnds, 0, kInfinity), infinite);
  EXPECT_EQ(by_range(DEQUANT_MIN_COMBINED, DEQUANT_UINT8, kEnds, 0, kInfinity), infinite);
}

TEST(Hostile, RangesOfUnequalOrOtherSizesAreRefused) {
  const auto node = [](Dims min, Dims max, std::optional<int64_t> axis) {
    return TensorFlowNode{.input_dims = {2, 3},
                          .min_dims = std::move(min),
                          .max_dims = std::move(max),
                          .raw_axis = axis};
  };
  // Per tensor there is one of each, whatever the shape that holds it.
  EXPECT_TRUE(succeeds(plan(node({}, {1}, {}))));
  for (const Dims& wrong : {Dims{0}, Dims{2}, Dims{3}, Dims{6}, Dims{1, 2}, Dims{1, 0}}) {
    EXPECT_TRUE(is_invalid(plan(node(wrong, {}, {})), "min_range: "));
    EXPECT_TRUE(is_invalid(plan(node({}, wrong, {})), "max_range: "));
  }
  EXPECT_TRUE(succeeds(plan(node({3}, {3}, 1))));
  for (const Dims& wrong : {Dims{}, Dims{0}, Dims{1}, Dims{2}, Dims{4}, Dims{6}}) {
    EXPECT_TRUE(is_invalid(plan(node(wrong, {3}, 1)), "min_range: "));
    EXPECT_TRUE(is_invalid(plan(node({3}, wrong, 1)), "max_range: "));
  }
  EXPECT_TRUE(is_invalid(plan(node({0}, {0}, -10)), "axis: -10"));
}

TEST(Hostile, RangesShorterThanSaidAreRefused) {
  const auto planned =
      plan(TensorFlowNode{.input_dims = {2, 3}, .min_dims = {3}, .max_dims = {3}, .raw_axis = 1});
  Buffers b{.x = Memory(6),
            .min_range = Memory(12),
            .max_range = Memory(12),
            .y = Memory(24, kUntouched)};
  for (const uint64_t bytes : {0u, 4u, 8u, 11u}) {
    auto view = b.view();
    view.min_range_bytes = bytes;
    EXPECT_TRUE(refused(planned, view, "min_range: ", b.y));
    view = b.view();
    view.max_range_bytes = bytes;
    EXPECT_TRUE(refused(planned, view, "max_range: ", b.y));
  }
}

}  // namespace
}  // namespace dequant::testing::c::hostile_range_test
