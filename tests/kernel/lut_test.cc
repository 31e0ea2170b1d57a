// The tables of small floats.
#include "kernel/lut.h"

#include <gtest/gtest.h>

#include <cmath>

#include "element/codes.h"
#include "support/float_bits.h"
#include "support/print.h"

namespace dequant::lut_test {
namespace {

TEST(Lut, HoldsTheValueOfEveryCodeOfASmallFloat) {
  for (const Element e : elements()) {
    if (kind(e) != Kind::floating || bits(e) > 8) {
      EXPECT_EQ(lut_of(e), nullptr) << name(e);
      continue;
    }
    ASSERT_NE(lut_of(e), nullptr) << name(e);
    for (uint32_t code = 0; code < (uint32_t{1} << bits(e)); ++code) {
      EXPECT_EQ(testing::bits_of(lut_of(e)[code]), testing::bits_of(float_value(e, code)));
    }
  }
}

TEST(Lut, DigitSumsAreTheBytesOfEveryFiniteValueAsBfloat16) {
  for (const Element e : elements()) {
    if (kind(e) != Kind::floating || bits(e) != 8 || !is_input(e)) continue;
    const DigitSums& sums = *digit_sums_behind(lut_of(e));
    for (uint32_t code = 0; code < 256; ++code) {
      const float value = float_value(e, code);
      if (e != Element::float8e5m2) {
        EXPECT_EQ((code & sums.nan_mask) == sums.nan, std::isnan(value)) << name(e) << ", " << code;
      }
      if (!std::isfinite(value)) continue;
      const uint32_t bfloat16 = testing::bits_of(value) >> 16;
      const uint32_t lower = code % 16;
      const uint32_t magnitude = code % 128;
      const bool first = magnitude < 16;
      const auto low = sums.low[lower] + (first ? sums.first_low[magnitude] : 0);
      const auto high =
          sums.high[lower] + sums.row[code / 16] + (first ? sums.first_high[magnitude] : 0);
      EXPECT_EQ(low % 256, static_cast<int>(bfloat16 % 256)) << name(e) << ", code " << code;
      EXPECT_EQ(high % 256, static_cast<int>(bfloat16 / 256)) << name(e) << ", code " << code;
    }
  }
}

}  // namespace
}  // namespace dequant::lut_test
