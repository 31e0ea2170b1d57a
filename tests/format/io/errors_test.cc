// Text from outside, made safe to print.
#include "format/io/errors.h"

#include <gtest/gtest.h>

namespace dequant::format {
namespace {

TEST(EscapedTest, LeavesTextOfAnyScriptAlone) {
  for (const char* text : {"", "plain text", "a/b-c_d.e", "\"quoted\" 'text'", "\xC3\xA9t\xC3\xA9",
                           "\xE3\x83\x87", "\xF0\x9F\x98\x80", "\xC2\xA0", "\xDF\xBF",
                           "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(escaped(text), text);
  }
}

TEST(EscapedTest, ShowsControlCharactersByTheirCodes) {
  EXPECT_EQ(escaped("a\nb\r\t"), "a\\x0ab\\x0d\\x09");
  EXPECT_EQ(escaped(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(escaped("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(escaped("\xC2\x80\xC2\x85\xC2\x9F"), "\\xc2\\x80\\xc2\\x85\\xc2\\x9f");  // C1
}

TEST(EscapedTest, ShowsWhatEndsALineOrTurnsItAroundByItsBytes) {
  EXPECT_EQ(escaped("\xE2\x80\xA8\xE2\x80\xA9"), "\\xe2\\x80\\xa8\\xe2\\x80\\xa9");
  EXPECT_EQ(escaped("a\xE2\x80\xAE"
                    "b"),
            "a\\xe2\\x80\\xaeb");
  EXPECT_EQ(escaped("\xE2\x81\xA6\xE2\x81\xA9"), "\\xe2\\x81\\xa6\\xe2\\x81\\xa9");
  EXPECT_EQ(escaped("\xE2\x80\xA6"), "\xE2\x80\xA6");  // an ellipsis stays
}

TEST(EscapedTest, DoublesTheBackslashSoThatEscapesAreNotMistaken) {
  EXPECT_EQ(escaped("\\x0a"), "\\\\x0a");
}

TEST(EscapedTest, ShowsBytesThatAreNotUtf8) {
  const char* broken[]{"\x80",
                       "\xBF",
                       "\xC0\x80",
                       "\xC1\xBF",
                       "\xC3",
                       "\xE3\x83",
                       "\xE0\x9F\xBF",
                       "\xED\xA0\x80",
                       "\xF0\x8F\xBF\xBF",
                       "\xF4\x90\x80\x80",
                       "\xF5\x80\x80\x80",
                       "\xFF"};
  for (const std::string_view text : broken) {
    std::string expected;
    for (const char c : text) expected += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    EXPECT_EQ(escaped(text), expected);
  }
  EXPECT_EQ(escaped("\xC3(\xC3\xA9"), "\\xc3(\xC3\xA9");  // and goes on behind them
}

TEST(EscapedTest, CutsLongTextBetweenCharacters) {
  const std::string long_text(100'000, 'x');
  EXPECT_EQ(escaped(long_text), std::string(201, 'x') + "...");
  EXPECT_EQ(escaped(std::string(201, 'x')), std::string(201, 'x'));
  std::string accents;
  for (int i = 0; i < 1000; ++i) accents += "\xC3\xA9";
  const std::string cut = escaped(accents);
  EXPECT_EQ(cut, accents.substr(0, cut.size() - 3) + "...");
  EXPECT_EQ(cut.size() % 2, 1u);
  EXPECT_LT(cut.size(), 210u);
}

TEST(EscapedTest, CutsWhereItIsTold) {
  const std::string long_text(100'000, 'x');
  EXPECT_EQ(escaped(long_text, std::string::npos), long_text);
  EXPECT_EQ(escaped("abcdef", 3), "abcd...");
}

TEST(FailureTest, ASystemErrorSaysWhatErrnoSays) {
  errno = ENOSPC;
  const Error full = io_error("cannot write {}", "f");
  EXPECT_EQ(full.code, ErrorCode::io);
  EXPECT_EQ(full.message, "cannot write f: No space left on device");
  errno = ENOMEM;
  EXPECT_EQ(io_error("x").code, ErrorCode::out_of_memory);
}

TEST(FailureTest, InSaysWhere) {
  const Error error = in("here", failure(ErrorCode::limit, "more than {}", 3));
  EXPECT_EQ(error.code, ErrorCode::limit);
  EXPECT_EQ(error.message, "here: more than 3");
}

}  // namespace
}  // namespace dequant::format
