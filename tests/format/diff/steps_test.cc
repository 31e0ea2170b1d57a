// Steps between numbers, against definitions by the bits of the types themselves.
#include "format/diff/steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "format/diff/difference.h"
#include "format/model/floats.h"

namespace dequant::format {
namespace {

uint32_t bits_of(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

template <Element kType>
void every_code_has_its_own_ordinal(uint32_t infinity) {
  for (uint32_t code = 0; code < infinity; ++code) {
    ASSERT_EQ(ordinal_of<kType>(bits_of(value_of(kType, code))), code);
  }
}

TEST(Steps, EveryNumberOf16BitsHasTheOrdinalOfItsCode) {
  every_code_has_its_own_ordinal<Element::float16>(0x7c00);
  every_code_has_its_own_ordinal<Element::bfloat16>(0x7f80);
}

/// The ordinal nearest to a float32, ties to even, by the values of the two codes around it.
template <Element kType>
uint32_t nearest(float value, uint32_t below, uint32_t infinity) {
  const double low = value_of(kType, below);
  const double top = value_of(kType, infinity - 1);  // the line goes on at the last distance
  const double high = below + 1 == infinity ? top + (top - value_of(kType, infinity - 2))
                                            : value_of(kType, below + 1);
  const double to_low = double{value} - low;
  const double to_high = high - double{value};
  if (to_low != to_high) return to_low < to_high ? below : below + 1;
  return below % 2 == 0 ? below : below + 1;
}

template <Element kType>
void numbers_between_go_to_the_nearest(uint32_t infinity) {
  for (uint32_t code = 0; code < infinity; ++code) {
    const uint32_t low = bits_of(value_of(kType, code));
    const uint32_t high = code + 1 < infinity ? bits_of(value_of(kType, code + 1)) : low + 0x1000;
    const uint32_t middle = low + (high - low) / 2;
    for (const uint32_t bits : {low + 1, middle - 1, middle, middle + 1, high - 1}) {
      if (bits <= low || bits >= high) continue;
      ASSERT_EQ(ordinal_of<kType>(bits),
                (nearest<kType>(std::bit_cast<float>(bits), code, infinity)))
          << code << " " << bits;
    }
  }
}

TEST(Steps, NumbersBetweenTwoOrdinalsHaveTheNearest) {
  numbers_between_go_to_the_nearest<Element::float16>(0x7c00);
  numbers_between_go_to_the_nearest<Element::bfloat16>(0x7f80);
}

TEST(Steps, GoAcrossZeroWhichIsOneNumber) {
  EXPECT_EQ(steps_between<Element::float32>(0x80000000u, 0), 0u);
  EXPECT_EQ(steps_between<Element::float32>(0x80000001u, 1), 2u);
  EXPECT_EQ(steps_between<Element::float32>(0xff7fffffu, 0x7f7fffffu), 0xfefffffeu);
  EXPECT_EQ(steps_between<Element::float16>(bits_of(-1), bits_of(1)), 2u * 0x3c00);
  EXPECT_EQ(steps_between<Element::bfloat16>(bits_of(-1e-40), bits_of(0)), 1u);
}

TEST(Steps, OfTheCoarserTypeCount) {
  using enum Element;
  EXPECT_EQ(coarser(float32, float32), float32);
  EXPECT_EQ(coarser(float32, float16), float16);
  EXPECT_EQ(coarser(bfloat16, float16), bfloat16);
  EXPECT_EQ(coarser(float16, bfloat16), bfloat16);
}

TEST(Steps, AreCountedInBinsThatDouble) {
  const std::pair<uint32_t, const char*> cases[] = {{0, "0"},
                                                    {1, "1"},
                                                    {2, "2"},
                                                    {3, "3-4"},
                                                    {4, "3-4"},
                                                    {5, "5-8"},
                                                    {8, "5-8"},
                                                    {9, "9-16"},
                                                    {1u << 31, "1073741825-2147483648"},
                                                    {0xfefffffeu, "2147483649-4294967296"}};
  for (const auto& [steps, label] : cases) EXPECT_EQ(step_label(step_bin(steps)), label);
  EXPECT_LT(step_bin(UINT32_MAX), kStepBins);
}

void every_code_widens(Element type) {
  std::vector<uint16_t> codes(UINT16_MAX + 1);
  std::iota(codes.begin(), codes.end(), uint16_t{0});
  std::vector<float> found(codes.size());
  widen(type, std::as_bytes(std::span(codes)), found);
  for (const uint16_t code : codes) {
    const double expected = value_of(type, code);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found[code])) << code;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(found[code]), bits_of(expected)) << code;
    }
  }
}

TEST(Widen, EveryCodeOf16BitsIsTheNumberItStandsFor) {
  every_code_widens(Element::float16);
  every_code_widens(Element::bfloat16);
}

}  // namespace
}  // namespace dequant::format
