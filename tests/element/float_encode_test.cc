// Rounding float32 to float16 and bfloat16: nearest, ties to even, for every code's value, every
// midpoint between codes and their float32 neighbours.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "element/codes.h"
#include "element/float_definition.h"
#include "element/reference.h"
#include "support/float_bits.h"
#include "support/print.h"

namespace dequant::float_encode_test {
namespace {

using testing::ascending_values;
using testing::bits_of;
using testing::definition_of;
using testing::float_of;
using enum Element;

/// The code whose value is nearest to a finite v >= 0, the even one of two equally near: by search
/// among all values. All distances are exact in double.
uint32_t nearest_code(const std::vector<double>& values, double v) {
  const auto above = std::lower_bound(values.begin(), values.end(), v);
  if (above == values.end()) return static_cast<uint32_t>(values.size() - 1);
  const auto code = static_cast<uint32_t>(above - values.begin());
  if (*above == v) return code;
  const double up = *above - v;
  const double down = v - values[code - 1];
  if (up != down) return up < down ? code : code - 1;
  return code % 2 == 0 ? code : code - 1;
}

uint32_t encode(Element output, float value) { return encode_float(traits(output).format, value); }

void expect_nearest(Element output, const std::vector<double>& values, float v) {
  const uint32_t want = nearest_code(values, static_cast<double>(v));
  ASSERT_EQ(encode(output, v), want) << name(output) << " of " << bits_of(v);
  ASSERT_EQ(encode(output, -v), want | 0x8000) << name(output) << " of -" << bits_of(v);
}

class Encode : public ::testing::TestWithParam<Element> {};

TEST_P(Encode, RoundsEveryMidpointAndItsNeighboursToNearestEven) {
  const std::vector<double> values = ascending_values(definition_of(GetParam()));
  for (size_t code = 0; code + 1 < values.size(); ++code) {
    const double midpoint = (values[code] + values[code + 1]) / 2;
    for (const double exact : {values[code], midpoint}) {
      const auto v = static_cast<float>(exact);
      ASSERT_EQ(static_cast<double>(v), exact) << "float32 holds the values and their midpoints";
      expect_nearest(GetParam(), values, v);
      expect_nearest(GetParam(), values, std::nextafter(v, INFINITY));
      if (v > 0) expect_nearest(GetParam(), values, std::nextafter(v, 0.0F));
    }
  }
}

TEST_P(Encode, RoundsRandomFloatsToNearestEven) {
  const std::vector<double> values = ascending_values(definition_of(GetParam()));
  testing::Random random(1);
  for (int i = 0; i < 200'000; ++i) {
    const float v = std::fabs(float_of(static_cast<uint32_t>(random.bits())));
    if (std::isfinite(v)) expect_nearest(GetParam(), values, v);
  }
}

TEST_P(Encode, GivesBackEveryCode) {
  const auto& f = definition_of(GetParam());
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const bool nan = std::isnan(testing::defined_value(f, code));
    const uint32_t quiet = f.infinity | (uint32_t{1} << (f.mantissa_bits - 1));
    ASSERT_EQ(encode(GetParam(), float_value(GetParam(), code)), nan ? quiet : code);
  }
}

TEST_P(Encode, KeepsInfinitiesAndMakesEveryNanOneNan) {
  const auto& f = definition_of(GetParam());
  EXPECT_EQ(encode(GetParam(), INFINITY), f.infinity);
  EXPECT_EQ(encode(GetParam(), -INFINITY), f.infinity | 0x8000);
  for (const uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFFFFFFFFu, 0x7FBFFFFFu}) {
    EXPECT_EQ(encode(GetParam(), float_of(nan)), GetParam() == float16 ? 0x7E00u : 0x7FC0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Outputs, Encode, ::testing::Values(float16, bfloat16),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST(EncodeFloat32, IsTheIdentityButForNans) {
  testing::Random random(2);
  for (int i = 0; i < 200'000; ++i) {
    const auto bits = static_cast<uint32_t>(random.bits());
    const bool nan = std::isnan(float_of(bits));
    ASSERT_EQ(encode(float32, float_of(bits)), nan ? kCanonicalNan : bits);
  }
  for (const uint32_t bits : testing::edge_scales()) {
    const bool nan = std::isnan(float_of(bits));
    EXPECT_EQ(reference_narrow(float32, float_of(bits)), nan ? kCanonicalNan : bits);
  }
}

TEST(EncodeFloat16, OverflowsFrom65520On) {
  EXPECT_EQ(encode(float16, 65519.996F), 0x7BFFu);
  EXPECT_EQ(encode(float16, 65520.0F), 0x7C00u);
  EXPECT_EQ(encode(float16, -65520.0F), 0xFC00u);
  EXPECT_EQ(encode(float16, 3.4e38F), 0x7C00u);
}

}  // namespace
}  // namespace dequant::float_encode_test
