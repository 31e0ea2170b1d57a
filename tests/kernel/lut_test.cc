// The tables of small floats.
#include "kernel/lut.h"

#include <gtest/gtest.h>

#include "element/codes.h"
#include "support/float_bits.h"
#include "support/print.h"

namespace dequant {
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

}  // namespace
}  // namespace dequant
