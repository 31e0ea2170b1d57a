// The codes that vectors are made of hold every value at which arithmetic goes wrong.
#include "conformance/vectors/values.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "support/print.h"

namespace dequant::conformance::vectors {
namespace {

using enum Element;
using ::testing::Contains;

constexpr Element kScales[]{float32, float16, bfloat16, float8e8m0};

std::vector<double> values_of(Element element, const Codes& codes) {
  std::vector<double> values;
  for (const uint64_t code : codes)
    values.push_back(value_of(element, static_cast<uint32_t>(code)));
  return values;
}

/// Halfway between two neighbours of a float with that many bits of mantissa and that lowest
/// exponent.
bool is_tie(double value, int mantissa_bits, int lowest_exponent) {
  if (value == 0 || !std::isfinite(value)) return false;
  const int exponent = std::max(std::ilogb(value), lowest_exponent);
  const double half_steps = std::ldexp(std::fabs(value), mantissa_bits + 1 - exponent);
  return half_steps == std::floor(half_steps) && std::fmod(half_steps, 2) == 1;
}

TEST(EdgeCodes, FitTheirTypeAndAreAllDifferent) {
  for (const Element e : elements()) {
    for (const Codes& codes : {edge_codes(e), all_codes(e)}) {
      EXPECT_EQ(std::set<uint64_t>(codes.begin(), codes.end()).size(), codes.size()) << name(e);
      for (const uint64_t code : codes) EXPECT_EQ(code >> bits(e), 0u) << name(e);
    }
  }
}

TEST(EdgeCodes, HoldZeroOneAndBothEnds) {
  for (const Element e : elements()) {
    if (!is_input(e)) continue;
    const auto values = values_of(e, edge_codes(e));
    EXPECT_THAT(values, Contains(0.0)) << name(e);
    EXPECT_THAT(values, Contains(1.0)) << name(e);
    if (kind(e) == Kind::floating) continue;
    const double count = std::ldexp(1, bits(e));
    const double lowest = kind(e) == Kind::signed_integer ? -count / 2 : 0;
    EXPECT_THAT(values, Contains(lowest)) << name(e);
    EXPECT_THAT(values, Contains(lowest + count - 1)) << name(e);
  }
}

TEST(EdgeCodes, OfWideIntegersHoldTiesOfTheFloatsThatRoundThem) {
  const auto ties = [](Element e, int mantissa_bits) {
    const auto values = values_of(e, edge_codes(e));
    return std::count_if(values.begin(), values.end(),
                         [&](double v) { return is_tie(v, mantissa_bits, -126); });
  };
  for (const Element e : {uint16, int16, uint32, int32}) {
    EXPECT_GE(ties(e, 7), 2) << name(e);
    EXPECT_GE(ties(e, 10), 1) << name(e);
  }
  EXPECT_GE(ties(int32, 23), 2);
  EXPECT_GE(ties(uint32, 23), 2);
}

TEST(AllCodes, AreAllOfAtMost8Bits) {
  EXPECT_EQ(all_codes(uint2).size(), 4u);
  EXPECT_EQ(all_codes(float4e2m1).size(), 16u);
  EXPECT_EQ(all_codes(float8e5m2).size(), 256u);
  EXPECT_EQ(all_codes(int16), edge_codes(int16));
}

TEST(EdgeScales, HoldZerosInfinitiesNansExtremesAndSubnormals) {
  for (const Element e : {float32, float16, bfloat16}) {
    const auto values = values_of(e, edge_scales(e));
    const auto count = [&](auto what) { return std::count_if(values.begin(), values.end(), what); };
    const int lowest_exponent = e == float16 ? -14 : -126;
    EXPECT_EQ(count([](double v) { return v == 0 && std::signbit(v); }), 1) << name(e);
    EXPECT_EQ(count([](double v) { return v == 0 && !std::signbit(v); }), 1) << name(e);
    EXPECT_EQ(count([](double v) { return std::isinf(v); }), 2) << name(e);
    EXPECT_EQ(count([](double v) { return std::isnan(v); }), 3) << name(e);
    EXPECT_GE(
        count([&](double v) { return v != 0 && std::fabs(v) < std::ldexp(1, lowest_exponent); }), 3)
        << name(e);
    EXPECT_THAT(edge_scales(e), Contains(1u)) << name(e) << ": the smallest subnormal";
  }
  EXPECT_TRUE(std::isnan(values_of(float8e8m0, edge_scales(float8e8m0))[3]));
}

TEST(EdgeScales, HoldTiesOfNarrowerOutputs) {
  const auto ties = [](Element e, int mantissa_bits, int lowest_exponent) {
    const auto values = values_of(e, edge_scales(e));
    return std::count_if(values.begin(), values.end(),
                         [&](double v) { return is_tie(v, mantissa_bits, lowest_exponent); });
  };
  EXPECT_GE(ties(float32, 10, -14), 6);  // float16
  EXPECT_GE(ties(float32, 7, -126), 5);  // bfloat16
  EXPECT_GE(ties(float16, 7, -126), 2);
  EXPECT_GE(ties(bfloat16, 10, -14), 2);
  EXPECT_GE(ties(float8e8m0, 10, -14), 1);
}

TEST(RandomCodes, FitTheirType) {
  Random random(1, "");
  for (int i = 0; i < 1000; ++i) {
    for (const Element e : elements()) EXPECT_EQ(random_code(random, e) >> bits(e), 0u);
    for (const Element e : kScales) {
      EXPECT_EQ(random_scale(random, e) >> bits(e), 0u);
      const double plain = value_of(e, static_cast<uint32_t>(plain_scale(random, e)));
      EXPECT_TRUE(plain >= 0.0625 && plain < 32) << name(e) << " " << plain;
    }
  }
}

TEST(ZeroPoints, OfFloatsAreZeroOfEitherSign) {
  Random random(1, "");
  for (const Element e : elements()) {
    if (!is_input(e)) continue;
    const auto minus = minus_zero(e);
    const bool has_minus = e == float8e4m3fn || e == float8e5m2 || e == float4e2m1;
    EXPECT_EQ(minus.has_value(), has_minus) << name(e);
    if (minus) {
      const double value = value_of(e, static_cast<uint32_t>(*minus));
      EXPECT_TRUE(value == 0 && std::signbit(value)) << name(e);
    }
    const uint64_t any = random_zero_point(random, e);
    EXPECT_TRUE(kind(e) != Kind::floating || any == 0) << name(e);
  }
}

/// The case with x and a zero point of these codes, narrowed.
Case narrowed_case(const std::string& type, const Codes& codes) {
  Case c;
  c.inputs["x"] = {type, {static_cast<int64_t>(codes.size())}, codes, {}};
  c.inputs["zero_point"] = c.inputs["x"];
  return narrowed(c);
}

TEST(Narrowed, Keeps24BitsAndTheSignWhereThereIsAZeroPoint) {
  const Codes codes{0x80000000, 0xFFFFFFFF, 0x7FFFFFFF, 0x00000100, 0};
  const Codes is_signed{0xFF800000, 0xFFFFFFFF, 0x007FFFFF, 1, 0};
  const Codes is_unsigned{0x00800000, 0x00FFFFFF, 0x007FFFFF, 1, 0};
  EXPECT_EQ(narrowed_case("int32", codes).inputs["x"].bits, is_signed);
  EXPECT_EQ(narrowed_case("int32", codes).inputs["zero_point"].bits, is_signed);
  EXPECT_EQ(narrowed_case("uint32", codes).inputs["x"].bits, is_unsigned);
  EXPECT_EQ(narrowed_case("int16", {0xFFFF}).inputs["x"].bits, Codes{0xFFFF});
  Case without;
  without.inputs["x"] = {"int32", {5}, codes, {}};
  EXPECT_EQ(narrowed(without).inputs["x"].bits, codes);
}

}  // namespace
}  // namespace dequant::conformance::vectors
