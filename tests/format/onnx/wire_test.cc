// The protobuf wire format: every field that is one, and nothing else, wherever the window ends.
#include "format/onnx/wire.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "message.h"
#include "support/expect_error.h"

namespace dequant::format::onnx {
namespace {

using testing::fails;
using testing::key;
using testing::num;
using testing::source_of;
using testing::sub;
using testing::succeeds;
using testing::varint;

constexpr int64_t kWindow = 256 << 10;

/// What a message holds: one letter and a value for each field, or the error.
std::string fields_of(std::string_view message) {
  Source source = source_of(message);
  Cursor cursor(source, source.all());
  std::string out;
  for (Field f;;) {
    const auto more = cursor.next(f);
    if (!more) return fmt::format("{}{}: {}", out, name(more.error().code), more.error().message);
    if (!*more) return out;
    switch (f.wire) {
      case Wire::varint: out += fmt::format("{}v{} ", f.number, f.value); break;
      case Wire::fixed32: out += fmt::format("{}s{} ", f.number, f.value); break;
      case Wire::fixed64: out += fmt::format("{}l{} ", f.number, f.value); break;
      case Wire::bytes:
        out += fmt::format("{}b{} ", f.number, source.text(f.payload).value());
        break;
      case Wire::group: out += fmt::format("{}g{} ", f.number, f.whole.size()); break;
      case Wire::group_end: return out + "the end of a group";
    }
  }
}

TEST(CursorTest, ReadsEachKindOfField) {
  EXPECT_EQ(fields_of(""), "");
  EXPECT_EQ(fields_of(num(1, 0) + num(2, 127) + num(3, 128) + num(536870911, -1)),
            "1v0 2v127 3v128 536870911v18446744073709551615 ");
  EXPECT_EQ(fields_of(sub(1, "") + sub(15, "abc") + sub(16, "d")), "1b 15babc 16bd ");
  EXPECT_EQ(fields_of(key(1, 5) + "\x01\x02\x03\x04"), "1s67305985 ");
  EXPECT_EQ(fields_of(key(1, 1) + "\x01\x02\x03\x04\x05\x06\x07\x08"), "1l578437695752307201 ");
  EXPECT_EQ(fields_of(key(1, 3) + num(2, 1) + key(1, 4) + num(3, 1)), "1g4 3v1 ");
}

TEST(CursorTest, ReadsVarintsOfUpTo64BitsInUpTo10Bytes) {
  for (int bits = 0; bits < 64; ++bits) {
    for (const uint64_t value :
         {uint64_t{1} << bits, (uint64_t{1} << bits) - 1, ~uint64_t{0} >> bits}) {
      EXPECT_EQ(fields_of(num(1, static_cast<int64_t>(value))), fmt::format("1v{} ", value));
    }
  }
  std::string longest = key(1, 0);
  longest.append(1, '\x81').append(8, '\x80').append(1, '\0');
  EXPECT_EQ(fields_of(longest), "1v1 ");
  const std::string nine(9, '\xFF');
  EXPECT_EQ(fields_of(key(1, 0) + nine + "\x01"), "1v18446744073709551615 ");
  EXPECT_EQ(fields_of(key(1, 0) + nine + "\x7F"), "1v18446744073709551615 ");  // as in protobuf
  for (const std::string& broken :
       {nine + "\x80\x01", nine + "\xFF\x01", std::string("\x80"), nine, nine + "\x80"}) {
    EXPECT_EQ(fields_of(key(1, 0) + broken), "malformed: no valid varint at byte 1");
  }
}

TEST(CursorTest, RefusesTagsThatAreNone) {
  EXPECT_EQ(fields_of(std::string("\0\0", 2)), "malformed: a field number out of range at byte 1");
  EXPECT_EQ(fields_of(num(536870912, 0)), "malformed: a field number out of range at byte 5");
  EXPECT_EQ(fields_of(key(1, 4)), "malformed: an unknown wire type at byte 1");
  EXPECT_EQ(fields_of(key(1, 6)), "malformed: an unknown wire type at byte 1");
  EXPECT_EQ(fields_of(key(1, 7)), "malformed: an unknown wire type at byte 1");
}

TEST(CursorTest, RefusesFieldsThatEndBehindTheirMessage) {
  EXPECT_EQ(fields_of(key(1, 5) + "abc"), "malformed: a truncated number at byte 1");
  EXPECT_EQ(fields_of(key(1, 1) + "abcdefg"), "malformed: a truncated number at byte 1");
  EXPECT_EQ(fields_of(key(1, 0)), "malformed: no valid varint at byte 1");
  EXPECT_EQ(fields_of(key(1, 2)), "malformed: no valid varint at byte 1");
  for (const uint64_t length : {uint64_t{4}, uint64_t{1} << 31, uint64_t{1} << 63, ~uint64_t{0}}) {
    const std::string head = key(1, 2) + varint(length);
    EXPECT_EQ(
        fields_of(head + "abc"),
        fmt::format("malformed: a length beyond the end of its message at byte {}", head.size()));
  }
}

TEST(CursorTest, AMessageEndsBeforeItsFileDoes) {
  const std::string inner = num(1, 300);
  Source source = source_of(inner + num(2, 1));
  Field f;
  for (int64_t end = 1; end < static_cast<int64_t>(inner.size()); ++end) {
    Cursor cut(source, {0, end});
    EXPECT_TRUE(fails(cut.next(f), ErrorCode::malformed, "varint")) << end;
  }
  Cursor whole(source, {0, static_cast<int64_t>(inner.size())});
  EXPECT_TRUE(whole.next(f).value());
  EXPECT_EQ(f.value, 300u);
  EXPECT_FALSE(whole.next(f).value());
}

TEST(CursorTest, SkipsGroupsUpToADepth) {
  const auto nested = [](int depth) {
    std::string out;
    for (int i = 0; i < depth; ++i) out += key(7, 3);
    for (int i = 0; i < depth; ++i) out += key(7, 4);
    return out;
  };
  EXPECT_EQ(fields_of(nested(100)), "7g200 ");
  EXPECT_EQ(fields_of(nested(101)).substr(0, 31), "limit: groups nested too deep a");
  EXPECT_EQ(fields_of(nested(1'000'000)).substr(0, 31), "limit: groups nested too deep a");
  EXPECT_EQ(fields_of(key(7, 3) + sub(1, "x")), "malformed: a group without an end at byte 4");
  EXPECT_EQ(fields_of(key(7, 3) + key(8, 4)), "malformed: the end of another group at byte 2");
  EXPECT_EQ(fields_of(key(7, 3) + key(8, 3) + key(7, 4)),
            "malformed: the end of another group at byte 3");
  EXPECT_EQ(fields_of(key(7, 3) + sub(1, key(7, 4)) + key(7, 4) + num(1, 2)), "7g5 1v2 ");
}

TEST(CursorTest, ReadsFieldsThatStraddleTheWindow) {
  const std::string tail = num(1, 300) + sub(2, "text") + key(3, 5) + "abcd" + key(4, 1) +
                           "abcdefgh" + key(5, 3) + num(1, 1) + key(5, 4) + num(6, -1);
  const std::string expected = fields_of(tail);
  for (int64_t off = -40; off <= 3; ++off) {
    // A first field that ends so that the tail lies across the end of the first window.
    const auto length = static_cast<size_t>(kWindow + off);
    const std::string message = sub(9, std::string(length - 4, 'x')) + tail;
    Source source = source_of(message);
    Cursor cursor(source, source.all());
    Field f;
    ASSERT_TRUE(cursor.next(f).value());
    EXPECT_EQ(f.payload.size(), static_cast<int64_t>(length) - 4);
    std::string rest;
    EXPECT_EQ(fields_of(std::string_view(message).substr(static_cast<size_t>(f.whole.end))),
              expected);
    std::optional<Field> last;
    while (cursor.next(f).value()) last = f;
    ASSERT_TRUE(last);
    EXPECT_EQ(last->value, ~uint64_t{0}) << off;
    EXPECT_EQ(last->whole.end, source.all().end);
  }
}

TEST(CursorTest, ReadsOneByteFieldsAcrossManyWindows) {
  std::string message;
  uint64_t expected = 0;
  for (uint64_t i = 0; message.size() < 3 * static_cast<size_t>(kWindow); ++i) {
    message += num(1, static_cast<int64_t>(i * 1000));
    expected += i * 1000;
  }
  Source source = source_of(message);
  Cursor cursor(source, source.all());
  uint64_t sum = 0;
  for (Field f; cursor.next(f).value();) sum += f.value;
  EXPECT_EQ(sum, expected);
}

TEST(SourceTest, PeeksAnywhereInAnyOrder) {
  std::string bytes(static_cast<size_t>(kWindow) * 2 + 10, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 >> 3);
  Source source = source_of(bytes);
  const int64_t size = source.all().end;
  for (const int64_t at :
       {int64_t{0}, kWindow - 1, kWindow, size - 1, int64_t{5}, size - 65536, size}) {
    const auto seen = source.peek(at, 65536).value();
    const auto least = static_cast<size_t>(std::min<int64_t>(65536, size - at));
    ASSERT_GE(seen.size(), least) << at;
    EXPECT_EQ(std::string_view(seen.data(), least),
              std::string_view(bytes).substr(static_cast<size_t>(at), least));
  }
}

TEST(SourceTest, TextIsReadUpToALimit) {
  const std::string bytes(200'000, 'x');
  Source source = source_of(bytes);
  EXPECT_EQ(source.text({5, 5}).value(), "");
  EXPECT_EQ(source.text({5, 100'005}).value(), std::string(100'000, 'x'));
  EXPECT_EQ(source.text({0, 3}, 3).value(), "xxx");
  EXPECT_TRUE(fails(source.text({0, 4}, 3), ErrorCode::limit, "a text of 4 bytes"));
}

TEST(ForEachVarintTest, TakesPackedAndSingleOnes) {
  const std::string message = num(1, 5) + sub(1, varint(6) + varint(300)) + sub(1, "") + num(1, -1);
  Source source = source_of(message);
  Cursor cursor(source, source.all());
  std::vector<int64_t> seen;
  for (Field f; cursor.next(f).value();) {
    EXPECT_TRUE(succeeds(for_each_varint(source, f, [&](int64_t v) -> Status {
      seen.push_back(v);
      return {};
    })));
  }
  EXPECT_EQ(seen, (std::vector<int64_t>{5, 6, 300, -1}));
}

TEST(ForEachVarintTest, RefusesWhatIsNone) {
  const auto check = [](std::string_view message) {
    Source source = source_of(message);
    Cursor cursor(source, source.all());
    Field f;
    EXPECT_TRUE(cursor.next(f).value());
    return for_each_varint(source, f, [](int64_t) { return Status{}; });
  };
  EXPECT_TRUE(fails(check(sub(1, "\x80")), ErrorCode::malformed, "varint"));
  EXPECT_TRUE(fails(check(sub(1, "\x80") + "\x01"), ErrorCode::malformed, "varint"));
  EXPECT_TRUE(fails(check(key(1, 5) + "abcd"), ErrorCode::malformed, "wire type"));
}

}  // namespace
}  // namespace dequant::format::onnx
