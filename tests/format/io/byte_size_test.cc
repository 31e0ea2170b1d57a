// Numbers of bytes as texts.
#include "format/io/byte_size.h"

#include <gtest/gtest.h>

#include <string>

namespace dequant::format {
namespace {

TEST(ByteSize, IsANumberTimesItsUnit) {
  EXPECT_EQ(byte_size("0"), 0);
  EXPECT_EQ(byte_size("007"), 7);
  EXPECT_EQ(byte_size("12B"), 12);
  EXPECT_EQ(byte_size("9223372036854775807"), INT64_MAX);
  int64_t decimal = 1;
  int64_t binary = 1;
  for (const char* unit : {"K", "M", "G", "T", "P", "E"}) {
    decimal *= 1000;
    binary *= 1024;
    const std::string small(1, static_cast<char>(unit[0] - 'A' + 'a'));
    for (const std::string& letter : {std::string(unit), small}) {
      for (const char* end : {"", "B", "b"}) {
        EXPECT_EQ(byte_size("3" + letter + end), 3 * decimal) << letter << end;
        EXPECT_EQ(byte_size("3" + letter + "i" + end), 3 * binary) << letter << end;
        EXPECT_EQ(byte_size("3" + letter + "I" + end), 3 * binary) << letter << end;
      }
    }
  }
  EXPECT_EQ(byte_size("7Ei"), 7 * binary);
}

TEST(ByteSize, IsNoneOfOtherTexts) {
  for (const char* text :
       {"",    " ",    "b",  "B",   "K",   "Ki",  "-1",  "+1",    " 1", "1 ",  "1 K",  "1.5K",
        "1e3", "0x10", "1i", "1iB", "1BB", "1Bi", "1KK", "1Kib1", "1Z", "1\n", "1,000"}) {
    EXPECT_EQ(byte_size(text), std::nullopt) << text;
  }
  EXPECT_EQ(byte_size(std::string_view("1\0", 2)), std::nullopt);
}

TEST(ByteSize, IsNoneAboveItsLimit) {
  for (const char* text : {"9223372036854775808", "99999999999999999999", "8Ei", "10E",
                           "9223372036854776K", "99999999999G"}) {
    EXPECT_EQ(byte_size(text), std::nullopt) << text;
  }
  EXPECT_EQ(byte_size("9223372036854775K"), 9223372036854775000);
}

}  // namespace
}  // namespace dequant::format
