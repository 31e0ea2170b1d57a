// Rounding to codes: every number of a type is its own code, and ties between two go to the even
// one.
#include "format/onnx/quantization.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace dequant::format::onnx {
namespace {

constexpr Element kIntegers[] = {Element::uint2, Element::int2, Element::uint4,  Element::int4,
                                 Element::uint8, Element::int8, Element::uint16, Element::int16};
constexpr Element kFloats[] = {Element::float4e2m1, Element::float8e4m3fn, Element::float8e4m3fnuz,
                               Element::float8e5m2, Element::float8e5m2fnuz};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

uint32_t codes_of(Element element) { return UINT32_MAX >> (32 - bits(element)); }

/// The finite codes by their values; of two zeros the positive one.
std::map<double, uint32_t> finite_codes(Element element) {
  std::map<double, uint32_t> codes;
  for (uint32_t code = 0; code <= codes_of(element); ++code) {
    const double value = value_of(element, code);
    if (std::isfinite(value)) codes.try_emplace(value, code);
  }
  return codes;
}

TEST(Rounder, NumbersOfTheTypeAreTheirOwnCodes) {
  for (const auto& elements :
       {std::span<const Element>(kIntegers), std::span<const Element>(kFloats)}) {
    for (const Element element : elements) {
      const Rounder round(element);
      for (const auto& [value, code] : finite_codes(element)) {
        ASSERT_EQ(round(static_cast<float>(value), 0), code) << name(element) << " " << value;
      }
    }
  }
}

TEST(Rounder, BetweenTwoNumbersTheNearerAndOfTwoTheEvenCode) {
  for (const auto& elements :
       {std::span<const Element>(kIntegers), std::span<const Element>(kFloats)}) {
    for (const Element element : elements) {
      const Rounder round(element);
      const auto codes = finite_codes(element);
      for (auto low = codes.begin(), high = std::next(low); high != codes.end(); ++low, ++high) {
        const auto middle = static_cast<float>((low->first + high->first) / 2);
        const bool low_even = low->second % 2 == 0;
        const auto value = [&](float x) { return value_of(element, round(x, 0)); };
        ASSERT_EQ(value(middle), low_even ? low->first : high->first)
            << name(element) << " " << middle;
        ASSERT_EQ(value(std::nextafter(middle, -kInfinity)), low->first) << name(element);
        ASSERT_EQ(value(std::nextafter(middle, kInfinity)), high->first) << name(element);
      }
    }
  }
}

TEST(Rounder, BeyondTheRangeIsTheEndOfIt) {
  for (const auto& elements :
       {std::span<const Element>(kIntegers), std::span<const Element>(kFloats)}) {
    for (const Element element : elements) {
      const Rounder round(element);
      const auto codes = finite_codes(element);
      for (const float beyond : {1e6F, 3e38F, kInfinity}) {
        EXPECT_EQ(value_of(element, round(beyond, 0)), codes.rbegin()->first) << name(element);
        EXPECT_EQ(value_of(element, round(-beyond, 0)), codes.begin()->first) << name(element);
      }
    }
  }
}

TEST(Rounder, ZeroPointIsAddedAfterRounding) {
  const Rounder round(Element::uint8);
  EXPECT_EQ(round(0.5F, 1), 1U);  // 0 + 1, where 1.5 would be 2
  EXPECT_EQ(round(1.5F, 1), 3U);
  EXPECT_EQ(round(-1.0F, 1), 0U);
  EXPECT_EQ(round(-300.0F, 255), 0U);
  EXPECT_EQ(round(300.0F, 0), 255U);
  const Rounder wide(Element::int16);
  EXPECT_EQ(wide(65535.0F, -32768), 32767U);
  EXPECT_EQ(wide(65534.5F, -32768), 32766U);
  EXPECT_EQ(wide(-65535.0F, 32767), 0x8000U);
}

TEST(Rounder, ZerosKeepTheirSignWhereTheTypeHasTwo) {
  EXPECT_EQ(Rounder(Element::float8e4m3fn)(-0.0F, -0.0F), 0x80U);
  EXPECT_EQ(Rounder(Element::float8e5m2)(-1e-30F, 0), 0x80U);
  EXPECT_EQ(Rounder(Element::float4e2m1)(-0.0F, -0.0F), 0x8U);
  EXPECT_EQ(Rounder(Element::float4e2m1)(-0.0F, 0), 0x0U);
  EXPECT_EQ(Rounder(Element::float4e2m1)(-1e-30F, 0), 0x8U);
  EXPECT_EQ(Rounder(Element::float8e4m3fnuz)(-0.0F, -0.0F), 0x00U);
  EXPECT_EQ(Rounder(Element::float8e5m2fnuz)(-1e-30F, 0), 0x00U);
}

TEST(Rounder, NanIsNanInFloat8) {
  for (const Element element : {Element::float8e4m3fn, Element::float8e4m3fnuz, Element::float8e5m2,
                                Element::float8e5m2fnuz}) {
    EXPECT_TRUE(std::isnan(value_of(element, Rounder(element)(NAN, 0)))) << name(element);
  }
}

}  // namespace
}  // namespace dequant::format::onnx
