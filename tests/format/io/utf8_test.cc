// Characters as UTF-8.
#include "format/io/utf8.h"

#include <gtest/gtest.h>

namespace dequant::format {
namespace {

bool is_surrogate(uint32_t character) { return character >= 0xD800 && character < 0xE000; }

TEST(Utf8Test, EveryCharacterIsReadAsItIsWritten) {
  for (uint32_t character = 0; character <= 0x10FFFF; ++character) {
    if (is_surrogate(character)) continue;
    std::string text;
    append_utf8(text, character);
    const size_t expected = character < 0x80      ? 1
                            : character < 0x800   ? 2
                            : character < 0x10000 ? 3
                                                  : 4;
    ASSERT_EQ(text.size(), expected) << character;
    ASSERT_EQ(utf8_length(text + "x", 0), expected) << character;
    for (size_t cut = 1; cut < expected; ++cut) {
      ASSERT_EQ(utf8_length(std::string_view(text).substr(0, cut), 0), 0U) << character;
    }
  }
}

TEST(Utf8Test, OfAllSequencesOnlyThoseOfCharactersAreValid) {
  // As many valid sequences of a length as there are characters of it: none is read in two ways.
  size_t valid[5]{};
  for (uint32_t bytes = 0; bytes < 1 << 24; ++bytes) {
    const char text[]{static_cast<char>(bytes >> 16), static_cast<char>(bytes >> 8),
                      static_cast<char>(bytes)};
    const size_t length = utf8_length({text, 3}, 0);
    const uint32_t rest = bytes & ((1U << (8 * (3 - length))) - 1);
    if (length > 0 && rest == 0) ++valid[length];
  }
  EXPECT_EQ(valid[1], 0x80U);
  EXPECT_EQ(valid[2], 0x800U - 0x80U);
  EXPECT_EQ(valid[3], 0x10000U - 0x800U - 0x800U);
}

TEST(Utf8Test, NumbersAboveTheLastCharacterAreNotValid) {
  EXPECT_EQ(utf8_length("\xF4\x8F\xBF\xBF", 0), 4U);
  EXPECT_EQ(utf8_length("\xF4\x90\x80\x80", 0), 0U);
  EXPECT_EQ(utf8_length("\xF0\x90\x80\x80", 0), 4U);
  EXPECT_EQ(utf8_length("\xF0\x8F\xBF\xBF", 0), 0U);
  EXPECT_EQ(utf8_length("\xF5\x80\x80\x80", 0), 0U);
}

TEST(IsUtf8, ATextIsUtf8FromItsFirstToItsLastByte) {
  EXPECT_TRUE(is_utf8("a\xC3\xB6\n"));
  EXPECT_TRUE(is_utf8(""));
  EXPECT_FALSE(is_utf8("a\xC3"));
  EXPECT_FALSE(is_utf8("\xFFz"));
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));  // a surrogate
}

TEST(AsUtf8, BytesThatAreNoUtf8BecomeEscapes) {
  EXPECT_EQ(as_utf8("a\xC3\xB6\n"), "a\xC3\xB6\n");
  EXPECT_EQ(as_utf8("\xFFz\xC3"), "\\xffz\\xc3");
  EXPECT_EQ(as_utf8("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(as_utf8(""), "");
}

}  // namespace
}  // namespace dequant::format
