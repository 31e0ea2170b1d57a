// The scalar definition of dequantization on numbers worked out by hand.
#include "element/reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/float_bits.h"
#include "support/print.h"

namespace dequant::reference_test {
namespace {

using testing::bits_of;
using testing::float_of;
using enum Element;

float dequantize(Element x, uint32_t code, int64_t zero_point, float scale) {
  return float_of(reference_dequantize(x, code, zero_point, scale, float32));
}

TEST(Reference, SubtractsTheZeroPointThenScales) {
  EXPECT_EQ(dequantize(uint8, 0, 128, 2.0F), -256.0F);
  EXPECT_EQ(dequantize(uint8, 3, 128, 2.0F), -250.0F);
  EXPECT_EQ(dequantize(uint8, 255, 128, 2.0F), 254.0F);
  EXPECT_EQ(dequantize(int8, 0x80, 127, 1.0F), -255.0F) << "the difference leaves int8";
  EXPECT_EQ(dequantize(int4, 0x8, 7, 0.5F), -7.5F);
  EXPECT_EQ(dequantize(uint2, 0, 3, 1.0F), -3.0F);
  EXPECT_EQ(dequantize(uint16, 0xFFFF, 0, 1.0F), 65535.0F);
  EXPECT_EQ(dequantize(int16, 0x8000, 32767, 1.0F), -65535.0F);
}

TEST(Reference, RoundsA33BitDifferenceOnce) {
  EXPECT_EQ(reference_difference(int32, 0x80000000, INT32_MAX), -4294967295.0F);
  EXPECT_EQ(reference_difference(int32, 0x7FFFFFFF, INT32_MIN), 4294967295.0F);
  EXPECT_EQ(reference_difference(uint32, 0, UINT32_MAX), -4294967295.0F);
  // Each rounded alone, 16777217 - 1 would be 16777215.
  EXPECT_EQ(reference_difference(int32, 16777217, 1), 16777216.0F);
  EXPECT_EQ(reference_difference(int32, 16777219, 0), 16777220.0F) << "a tie goes to even";
  EXPECT_EQ(reference_difference(int32, 16777217, 0), 16777216.0F) << "a tie goes to even";
}

TEST(Reference, FloatsHaveNoZeroPoint) {
  EXPECT_EQ(dequantize(float8e4m3fn, 0x7E, 0, 2.0F), 896.0F);
  EXPECT_EQ(bits_of(dequantize(float8e5m2, 0x80, 0, 1.0F)), 0x80000000u) << "-0 stays -0";
  EXPECT_EQ(dequantize(float4e2m1, 0xF, 0, 0.5F), -3.0F);
}

TEST(Reference, FollowsIeeeForSpecialScales) {
  EXPECT_EQ(bits_of(dequantize(int8, 0xFF, 0, 0.0F)), 0x80000000u) << "-1 * 0 is -0";
  EXPECT_EQ(dequantize(int8, 1, 0, INFINITY), INFINITY);
  EXPECT_EQ(bits_of(dequantize(int8, 0, 0, INFINITY)), kCanonicalNan) << "0 * inf";
  EXPECT_EQ(bits_of(dequantize(int8, 1, 0, float_of(0xFFC12345))), kCanonicalNan);
  EXPECT_EQ(dequantize(int8, 2, 0, 3.0e38F), INFINITY);
  EXPECT_EQ(bits_of(dequantize(int8, 3, 0, float_of(1))), 3u) << "subnormals are kept";
  EXPECT_EQ(dequantize(float8e5m2, 0xFC, 0, -1.0F), INFINITY);
}

TEST(Reference, NarrowsTheFloat32ProductNotTheExactOne) {
  // 3 * 0.7F is 2.1000001 in float32; float16 and bfloat16 round that number.
  EXPECT_EQ(dequantize(uint8, 3, 0, 0.7F), 3.0F * 0.7F);
  EXPECT_EQ(reference_dequantize(uint8, 3, 0, 0.7F, float16), 0x4033u);
  EXPECT_EQ(reference_dequantize(uint8, 3, 0, 0.7F, bfloat16), 0x4006u);
  // 3 * 0x1.001556p0 is 0x1.802001p1, above the tie 0x1.802p1; float32 rounds it to the tie, which
  // goes down to the even 3. Rounding the exact product once would give 0x4201.
  EXPECT_EQ(reference_dequantize(uint8, 3, 0, 0x1.001556p0F, float16), 0x4200u);
}

TEST(Reference, RoundsEveryStepOfARangeRule) {
  const auto value = [](uint32_t code, int32_t shift, float scale, float offset) {
    return float_of(reference_scale_add(int32, code, shift, scale, offset, float32));
  };
  EXPECT_EQ(value(3, -128, 0.5F, -1.0F), 64.5F);
  EXPECT_EQ(value(16777217, 0, 1.0F, 0.0F), 16777216.0F) << "the code is rounded by itself";
  EXPECT_EQ(value(1, INT32_MIN, 1.0F, 0.0F), 2147483648.0F) << "and then its sum with 2^31";
  // Fused, the product 1 - 2^-24 * 2^-24 would not become 1 before the sum.
  EXPECT_EQ(value(1, 0, 1.0F + 0x1p-23F, -1.0F), 0x1p-23F);
  EXPECT_EQ(value(3, 0, 0x1.555556p-2F, -1.0F), 0.0F) << "fused, it would be 2^-25";
  EXPECT_EQ(reference_scale_add(uint8, 0, 0, 1.0F, float_of(0xFFC00001), bfloat16), 0x7FC0u);
}

TEST(Reference, RoundsALineInDoubleAndThenOnce) {
  const auto value = [](uint32_t code, const AffineFormula& formula) {
    return float_of(reference_formula(int32, code, formula));
  };
  EXPECT_EQ(value(7, {.shift = 3, .factor = 3, .divisor = 4, .base = 0.5}), 3.5F);
  EXPECT_EQ(value(0x80000000, {.shift = INT32_MAX}), -4294967295.0F);
  EXPECT_EQ(value(16777217, {.base = -16777216.0}), 1.0F) << "float32 would have lost the one";
  EXPECT_EQ(bits_of(value(0, {.factor = -1})), 0x80000000u) << "a base of -0 keeps -0";
  EXPECT_EQ(bits_of(value(1, {.divisor = 0, .base = -HUGE_VAL})), 0x7FC00000u);
}

}  // namespace
}  // namespace dequant::reference_test
