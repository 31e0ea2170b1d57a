// What every integer code means.
#include <gtest/gtest.h>

#include "element/codes.h"
#include "support/print.h"

namespace dequant::integer_code_test {
namespace {

using enum Element;

/// Two's complement: from the middle on, codes stand for themselves minus the number of codes.
int64_t defined_integer(Element element, int64_t code) {
  const int64_t codes = int64_t{1} << bits(element);
  return kind(element) == Kind::signed_integer && code >= codes / 2 ? code - codes : code;
}

TEST(IntegerCode, EveryCodeOfUpTo16BitsCountsInTwosComplement) {
  for (const Element e : {uint2, int2, uint4, int4, uint8, int8, uint16, int16}) {
    for (uint32_t code = 0; code < (uint32_t{1} << bits(e)); ++code) {
      ASSERT_EQ(integer_value(e, code), defined_integer(e, code)) << name(e) << " " << code;
    }
  }
}

TEST(IntegerCode, Counts32BitCodesInTwosComplement) {
  for (const uint32_t code : {0u, 1u, 0x7FFFFFFFu, 0x80000000u, 0x80000001u, 0xFFFFFFFFu}) {
    EXPECT_EQ(integer_value(uint32, code), defined_integer(uint32, code));
    EXPECT_EQ(integer_value(int32, code), defined_integer(int32, code));
  }
}

TEST(IntegerCode, HasTheBordersOfTheSpecification) {
  EXPECT_EQ(integer_value(int4, 0x8), -8);
  EXPECT_EQ(integer_value(int4, 0x7), 7);
  EXPECT_EQ(integer_value(uint4, 0xF), 15);
  EXPECT_EQ(integer_value(int2, 0x2), -2);
  EXPECT_EQ(integer_value(int2, 0x1), 1);
  EXPECT_EQ(integer_value(uint2, 0x3), 3);
  EXPECT_EQ(integer_value(int32, 0x80000000), INT32_MIN);
  EXPECT_EQ(integer_value(uint32, 0xFFFFFFFF), int64_t{UINT32_MAX});
}

}  // namespace
}  // namespace dequant::integer_code_test
