// What run() refuses before its first write.
#include <gtest/gtest.h>

#include "support/example.h"
#include "support/expect_error.h"

namespace dequant::checks_test {
namespace {

using testing::Bytes;
using testing::is_invalid;
using testing::succeeds;
using enum Element;
using Span = std::span<std::byte>;

/// int8[4, 16] per axis 0, with exact buffers in one allocation: x, scale, zero_point, y.
class Checks : public ::testing::Test {
 protected:
  static constexpr size_t kX = 64;
  static constexpr size_t kScale = 16;
  static constexpr size_t kZero = 4;
  static constexpr size_t kY = 256;

  Plan plan_{.input = int8,
             .has_zero_point = true,
             .granularity = Granularity::per_axis,
             .axis = 4,
             .inner = 16};
  Bytes memory_ = Bytes(1024, testing::kUntouched);
  Span x_ = Span(memory_).subspan(0, kX);
  Span scale_ = Span(memory_).subspan(100, kScale);
  Span zero_ = Span(memory_).subspan(200, kZero);
  Span y_ = Span(memory_).subspan(300, kY);

  /// Refused with that word, and no byte of memory is changed.
  void expect_refused(const Buffers& buffers, std::string_view word) {
    const Bytes before = memory_;
    EXPECT_TRUE(is_invalid(run(plan_, buffers), word));
    EXPECT_TRUE(memory_ == before) << "something was written";
  }

  Span at(size_t offset, size_t size) { return Span(memory_).subspan(offset, size); }
};

TEST_F(Checks, PassForExactAndForLongerSpans) {
  EXPECT_TRUE(succeeds(run(plan_, {x_, scale_, zero_, y_})));
  const Bytes exact = memory_;
  EXPECT_TRUE(succeeds(run(plan_, {at(0, 90), at(100, 90), at(200, 90), at(300, 700)})));
  EXPECT_TRUE(memory_ == exact) << "bytes beyond the output stay";
}

TEST_F(Checks, RefuseNullPointers) {
  expect_refused({{}, scale_, zero_, y_}, "x: null");
  expect_refused({x_, {}, zero_, y_}, "scale: null");
  expect_refused({x_, scale_, {}, y_}, "zero_point: null");
  expect_refused({x_, scale_, zero_, {}}, "y: null");
  expect_refused({}, "x: null");
}

TEST_F(Checks, RefuseSpansShortByOneByteOrEmpty) {
  expect_refused({x_.first(kX - 1), scale_, zero_, y_}, "x: 63 bytes given, 64 needed");
  expect_refused({x_, scale_.first(kScale - 1), zero_, y_}, "scale: 15 bytes given, 16 needed");
  expect_refused({x_, scale_, zero_.first(kZero - 1), y_}, "zero_point: 3 bytes given, 4 needed");
  expect_refused({x_, scale_, zero_, y_.first(kY - 1)}, "y: 255 bytes given, 256 needed");
  expect_refused({x_.first(0), scale_, zero_, y_}, "x: 0 bytes");
  expect_refused({x_, scale_.first(0), zero_, y_}, "scale: 0 bytes");
  expect_refused({x_, scale_.first(4), zero_, y_}, "scale: 4 bytes");
  expect_refused({x_, scale_, zero_.first(0), y_}, "zero_point: 0 bytes");
  expect_refused({x_, scale_, zero_, y_.first(0)}, "y: 0 bytes");
}

TEST_F(Checks, RefuseAZeroPointThePlanHasNot) {
  plan_.has_zero_point = false;
  expect_refused({x_, scale_, zero_, y_}, "zero_point: 4 bytes given");
  EXPECT_TRUE(succeeds(run(plan_, {x_, scale_, {}, y_})));
}

TEST_F(Checks, RefuseOutputOverAnyInputByASingleByte) {
  for (const size_t from : {300 - kX + 1, size_t{300}, size_t{400}, 300 + kY - 1}) {
    expect_refused({at(from, kX), scale_, zero_, y_}, "overlaps x;");
  }
  for (const size_t from : {300 - kScale + 1, size_t{300}, size_t{400}, 300 + kY - 1}) {
    expect_refused({x_, at(from, kScale), zero_, y_}, "overlaps scale");
  }
  for (const size_t from : {300 - kZero + 1, size_t{300}, size_t{400}, 300 + kY - 1}) {
    expect_refused({x_, scale_, at(from, kZero), y_}, "overlaps zero_point");
  }
}

TEST_F(Checks, AllowOutputNextToEveryInput) {
  EXPECT_TRUE(succeeds(run(plan_, {at(300 - kX, kX), at(300 + kY, kScale), zero_, y_})));
  EXPECT_TRUE(succeeds(run(plan_, {at(300 + kY, kX), at(300 - kScale, kScale), zero_, y_})));
  EXPECT_TRUE(succeeds(run(plan_, {x_, scale_, at(300 + kY, kZero), y_})));
}

TEST_F(Checks, AllowInputsToOverlapOneAnother) {
  const Bytes x(x_.begin(), x_.end());
  Bytes want(kY);
  const Bytes scale(x.begin() + 8, x.begin() + 8 + kScale);
  const Bytes zero(x.begin() + 3, x.begin() + 3 + kZero);
  ASSERT_TRUE(succeeds(run(plan_, {x, scale, zero, want})));
  ASSERT_TRUE(succeeds(run(plan_, {x_, at(8, kScale), at(3, kZero), y_})));
  EXPECT_TRUE(std::equal(want.begin(), want.end(), y_.begin()));
}

TEST_F(Checks, PassForAnEmptyTensorWithoutMemory) {
  plan_.axis = 0;
  EXPECT_TRUE(succeeds(run(plan_, {})));
  plan_ = Plan{.input = int4, .inner = 0};
  EXPECT_TRUE(succeeds(run(plan_, {{}, scale_, {}, {}}))) << "per tensor there is still one scale";
  const Bytes before = memory_;
  EXPECT_TRUE(succeeds(run(plan_, {x_, scale_, {}, y_})));
  EXPECT_TRUE(memory_ == before) << "nothing to write";
}

/// A per-tensor float plan with that one zero point, in the code of x.
Status run_with_zero_point(Element x, uint32_t zero_point, Bytes& y) {
  const Plan plan{.input = x, .has_zero_point = true};
  const Bytes codes = testing::pack(x, {1});
  const Bytes scale = testing::pack(float32, {testing::bits_of(1.0F)});
  const Bytes zero = testing::pack(x, {zero_point});
  return run(plan, {codes, scale, zero, y});
}

TEST(FloatZeroPoint, MayBeAnyZeroAndNothingElse) {
  for (const Element x : {float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float4e2m1}) {
    for (uint32_t code = 0; code < (uint32_t{1} << bits(x)); ++code) {
      Bytes y(4, testing::kUntouched);
      const Status status = run_with_zero_point(x, code, y);
      if (float_value(x, code) == 0) {
        EXPECT_TRUE(succeeds(status)) << name(x) << " " << code;
        EXPECT_EQ(testing::float_of(testing::code_at(float32, y, 0)), float_value(x, 1));
      } else {
        EXPECT_TRUE(is_invalid(status, "zero_point: element 0")) << name(x) << " " << code;
        EXPECT_EQ(y, Bytes(4, testing::kUntouched));
      }
    }
  }
}

TEST(FloatZeroPoint, NegativeZeroIsZeroWhereTheFormatHasIt) {
  Bytes y(4);
  EXPECT_TRUE(succeeds(run_with_zero_point(float8e4m3fn, 0x80, y)));
  EXPECT_TRUE(succeeds(run_with_zero_point(float8e5m2, 0x80, y)));
  EXPECT_TRUE(succeeds(run_with_zero_point(float4e2m1, 0x8, y)));
  EXPECT_TRUE(is_invalid(run_with_zero_point(float8e4m3fnuz, 0x80, y), "not zero")) << "NaN";
}

/// ONNX's reference subtracts the zero points of these: x - -0 is +0 where x is -0.
TEST(FloatZeroPoint, OfSixBitsMayBePositiveZeroOnly) {
  for (const Element x : elements()) {
    if (!is_input(x) || bits(x) != 6) continue;
    for (uint32_t code = 0; code < 64; ++code) {
      Bytes y(4, testing::kUntouched);
      const Status status = run_with_zero_point(x, code, y);
      if (code == 0) {
        EXPECT_TRUE(succeeds(status)) << name(x);
      } else {
        EXPECT_TRUE(is_invalid(status, "zero_point: element 0 has code")) << name(x) << code;
        EXPECT_EQ(y, Bytes(4, testing::kUntouched));
      }
    }
  }
}

TEST(FloatZeroPoint, IsCheckedAtEveryIndex) {
  const Plan plan{.input = float4e2m1,
                  .has_zero_point = true,
                  .granularity = Granularity::per_axis,
                  .outer = 2,
                  .axis = 33};
  const Bytes x(33);
  const Bytes scale(33 * 4);
  for (size_t bad = 0; bad < 33; ++bad) {
    std::vector<uint32_t> zeros(33, 0);
    zeros[bad] = 2;
    Bytes y(66 * 4, testing::kUntouched);
    const Status status = run(plan, {x, scale, testing::pack(float4e2m1, zeros), y});
    EXPECT_TRUE(is_invalid(status, "element " + std::to_string(bad) + " has code 2"));
    EXPECT_EQ(y, Bytes(66 * 4, testing::kUntouched));
  }
}

TEST(FloatZeroPoint, IgnoresTheUnusedBitsOfTheLastByte) {
  const Plan plan{.input = float4e2m1, .has_zero_point = true};
  const Bytes one{std::byte{0x02}};
  const Bytes zero{std::byte{0xF0}};
  const Bytes scale = testing::pack(float32, {testing::bits_of(1.0F)});
  Bytes y(4);
  EXPECT_TRUE(succeeds(run(plan, {one, scale, zero, y})));
}

TEST(FloatZeroPoint, IgnoresTheUnusedBitsAtTheEndOfASlice) {
  const Plan plan{.input = float4e2m1,
                  .has_zero_point = true,
                  .granularity = Granularity::per_axis,
                  .axis = 13};
  ASSERT_EQ(scales_of(plan, {8, 13}), (Range{8, 13}));
  const Bytes x(3);
  const Bytes scale(20);
  const Bytes zero{std::byte{0}, std::byte{0}, std::byte{0xF0}};
  Bytes y(20);
  EXPECT_TRUE(succeeds(run_range(plan, {8, 13}, {x, scale, zero, y})));
}

TEST(FloatZeroPoint, CanBeCheckedAhead) {
  Plan plan{
      .input = float4e2m1, .has_zero_point = true, .granularity = Granularity::per_axis, .axis = 3};
  const Bytes zeros{std::byte{0x80}, std::byte{0xF8}};
  const Bytes two{std::byte{0x40}, std::byte{0x00}};
  EXPECT_TRUE(succeeds(check_zero_points(plan, zeros)));
  EXPECT_TRUE(succeeds(check_zero_points(plan, {})));
  EXPECT_TRUE(is_invalid(check_zero_points(plan, two), "element 1 has code 4"));
  plan.input = int4;
  EXPECT_TRUE(succeeds(check_zero_points(plan, two))) << "integers have any zero point";
}

}  // namespace
}  // namespace dequant::checks_test
