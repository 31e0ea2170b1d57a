// What every code of every small float means.
#include <gtest/gtest.h>

#include <cmath>

#include "element/codes.h"
#include "element/float_definition.h"
#include "support/float_bits.h"
#include "support/print.h"

namespace dequant::float_decode_test {
namespace {

using testing::bits_of;
using testing::defined_value;
using testing::float_of;
using testing::FloatDefinition;
using testing::kSmallFloats;
using enum Element;

TEST(FloatCode, EveryCodeHasTheValueOfItsDefinition) {
  for (const FloatDefinition& f : kSmallFloats) {
    for (uint32_t code = 0; code < (uint32_t{1} << f.bits); ++code) {
      const double want = defined_value(f, code);
      const float got = float_value(f.element, code);
      if (std::isnan(want)) {
        ASSERT_EQ(bits_of(got), kCanonicalNan) << name(f.element) << " " << code;
      } else {
        ASSERT_EQ(static_cast<double>(got), want) << name(f.element) << " " << code;
        ASSERT_EQ(std::signbit(got), std::signbit(want)) << name(f.element) << " " << code;
      }
    }
  }
}

TEST(FloatCode, Float8e8m0IsAPowerOfTwoAndItsLastCodeIsNan) {
  for (uint32_t code = 0; code < 255; ++code) {
    ASSERT_EQ(static_cast<double>(float_value(float8e8m0, code)),
              std::ldexp(1.0, static_cast<int>(code) - 127));
  }
  EXPECT_EQ(bits_of(float_value(float8e8m0, 0xFF)), kCanonicalNan);
  EXPECT_EQ(bits_of(float_value(float8e8m0, 0x00)), 0x00400000u) << "a subnormal float32";
}

TEST(FloatCode, Float32IsItselfButForNans) {
  for (const uint32_t code : testing::edge_scales()) {
    const bool nan = std::isnan(float_of(code));
    EXPECT_EQ(bits_of(float_value(float32, code)), nan ? kCanonicalNan : code);
  }
}

struct Golden {
  Element element;
  uint32_t code;
  double value;
};

TEST(FloatCode, HasTheConstantsOfTheSpecificationsTable) {
  const Golden list[] = {
      {float8e4m3fn, 0x7E, 448},
      {float8e4m3fn, 0xFE, -448},
      {float8e4m3fn, 0x01, std::ldexp(1.0, -9)},
      {float8e4m3fn, 0x08, std::ldexp(1.0, -6)},
      {float8e4m3fn, 0x38, 1},
      {float8e4m3fnuz, 0x7F, 240},
      {float8e4m3fnuz, 0x01, std::ldexp(1.0, -10)},
      {float8e4m3fnuz, 0x40, 1},
      {float8e5m2, 0x7B, 57344},
      {float8e5m2, 0x01, std::ldexp(1.0, -16)},
      {float8e5m2, 0x3C, 1},
      {float8e5m2, 0xFC, -INFINITY},
      {float8e5m2fnuz, 0x7F, 57344},
      {float8e5m2fnuz, 0x01, std::ldexp(1.0, -17)},
      {float8e8m0, 0xFE, std::ldexp(1.0, 127)},
      {float8e8m0, 0x7F, 1},
      {float16, 0x7BFF, 65504},
      {float16, 0x0001, std::ldexp(1.0, -24)},
      {float16, 0x0400, std::ldexp(1.0, -14)},
      {float16, 0x3C00, 1},
      {bfloat16, 0x3F80, 1},
      {bfloat16, 0x0001, std::ldexp(1.0, -133)},
      {bfloat16, 0x7F7F, std::ldexp(255.0, 120)},
  };
  for (const Golden& g : list) {
    EXPECT_EQ(static_cast<double>(float_value(g.element, g.code)), g.value)
        << name(g.element) << " " << g.code;
  }
}

TEST(FloatCode, Float4e2m1HasSixteenValues) {
  const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint32_t code = 0; code < 16; ++code) {
    const float got = float_value(float4e2m1, code);
    EXPECT_EQ(static_cast<double>(std::fabs(got)), magnitudes[code & 7]);
    EXPECT_EQ(std::signbit(got), code >= 8);
  }
}

/// OCP Microscaling Formats 1.0, 5.3.2: the largest and the smallest of each kind.
TEST(FloatCode, Float6e2m3HasTheEndsOfItsSpecification) {
  EXPECT_EQ(float_value(float6e2m3, 0x1F), 7.5F);
  EXPECT_EQ(float_value(float6e2m3, 0x08), 1.0F);
  EXPECT_EQ(float_value(float6e2m3, 0x07), 0.875F);
  EXPECT_EQ(float_value(float6e2m3, 0x21), -0.125F);
}

TEST(FloatCode, Float6e3m2HasTheEndsOfItsSpecification) {
  EXPECT_EQ(float_value(float6e3m2, 0x1F), 28.0F);
  EXPECT_EQ(float_value(float6e3m2, 0x04), 0.25F);
  EXPECT_EQ(float_value(float6e3m2, 0x03), 0.1875F);
  EXPECT_EQ(float_value(float6e3m2, 0x21), -0.0625F);
}

TEST(ValueOf, IsTheNumberOfACodeInDouble) {
  for (const FloatDefinition& f : kSmallFloats) {
    for (uint32_t code = 0; code < (uint32_t{1} << f.bits); ++code) {
      const double want = defined_value(f, code);
      const double got = value_of(f.element, code);
      ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << name(f.element);
    }
  }
  EXPECT_EQ(value_of(float32, 0x3DCCCCCD), static_cast<double>(0.1F));
  EXPECT_EQ(value_of(int4, 0xF), -1);
  EXPECT_EQ(value_of(int8, 0x80), -128);
  EXPECT_EQ(value_of(int32, 0x80000000), -2147483648.0);
  EXPECT_EQ(value_of(uint32, 0xFFFFFFFF), 4294967295.0);
}

TEST(FloatCode, OnlyZerosAreZero) {
  for (const FloatDefinition& f : kSmallFloats) {
    for (uint32_t code = 0; code < (uint32_t{1} << f.bits); ++code) {
      ASSERT_EQ(is_zero_float(f.element, code), defined_value(f, code) == 0) << name(f.element);
    }
  }
}

}  // namespace
}  // namespace dequant::float_decode_test
