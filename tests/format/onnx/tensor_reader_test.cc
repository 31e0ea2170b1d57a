// The data of tensors: every storage of every type, and nothing that is too short, too long or
// other.
#include "format/onnx/tensor_reader.h"

#include <gtest/gtest.h>

#include <cstring>

#include "format/npy/scratch.h"
#include "message.h"
#include "support/expect_error.h"

namespace dequant::format::onnx {
namespace {

using testing::fails;
using testing::key;
using testing::num;
using testing::Scratch;
using testing::source_of;
using testing::sub;
using testing::succeeds;
using testing::varint;

std::string head(Element element, std::initializer_list<int64_t> dims) {
  std::string out;
  for (const int64_t d : dims) out += num(1, d);
  return out + num(2, onnx_code(element)) + sub(8, "t");
}

std::string packed(uint32_t number, std::initializer_list<int64_t> values) {
  std::string inner;
  for (const int64_t v : values) inner += varint(static_cast<uint64_t>(v));
  return sub(number, inner);
}

std::string entry(std::string_view k, std::string_view v) { return sub(13, sub(1, k) + sub(2, v)); }

/// The packed bytes of the tensor of a message as text, or the error.
Result<std::string> data_of(std::string_view message, const std::string& folder = ".",
                            int64_t max_bytes = 1 << 20) {
  Source source = source_of(message);
  ExternalFiles files(folder + "/model.onnx");
  Store store;
  Tensor tensor;
  DEQUANT_TRY([[maybe_unused]] const int64_t data_bytes,
              read_tensor(source, source.all(), store, tensor));
  DEQUANT_TRY(const TensorData data, read_tensor_data(source, files, tensor, max_bytes));
  std::string out(data.bytes.size(), '\0');
  if (!out.empty()) std::memcpy(out.data(), data.bytes.data(), out.size());
  return out;
}

struct TypedCase {
  Element element;
  uint32_t field;
  int64_t elements;  ///< of the two entries least and largest
  int64_t least;
  int64_t largest;
  std::string bytes;
};

const TypedCase kTyped[]{
    {Element::uint8, 5, 2, 0, 255, {"\x00\xFF", 2}},
    {Element::int8, 5, 2, -128, 127, "\x80\x7F"},
    {Element::uint16, 5, 2, 0, 65535, {"\x00\x00\xFF\xFF", 4}},
    {Element::int16, 5, 2, -32768, 32767, {"\x00\x80\xFF\x7F", 4}},
    {Element::int32, 5, 2, INT32_MIN, INT32_MAX, {"\x00\x00\x00\x80\xFF\xFF\xFF\x7F", 8}},
    {Element::uint32, 11, 2, 0, UINT32_MAX, {"\x00\x00\x00\x00\xFF\xFF\xFF\xFF", 8}},
    {Element::uint4, 5, 4, -128, 255, "\x80\xFF"},
    {Element::int4, 5, 4, -128, 255, "\x80\xFF"},
    {Element::uint2, 5, 8, -128, 255, "\x80\xFF"},
    {Element::int2, 5, 8, -128, 255, "\x80\xFF"},
    {Element::float4e2m1, 5, 4, -128, 255, "\x80\xFF"},
    {Element::float8e4m3fn, 5, 2, 0, 255, {"\x00\xFF", 2}},
    {Element::float8e4m3fnuz, 5, 2, 0, 255, {"\x00\xFF", 2}},
    {Element::float8e5m2, 5, 2, 0, 255, {"\x00\xFF", 2}},
    {Element::float8e5m2fnuz, 5, 2, 0, 255, {"\x00\xFF", 2}},
    {Element::float8e8m0, 5, 2, 0, 255, {"\x00\xFF", 2}},
    {Element::float6e2m3, 5, 2, 0, 63, "\xC0\x0F"},
    {Element::float6e3m2, 5, 2, 0, 63, "\xC0\x0F"},
    {Element::float16, 5, 2, 0, 65535, {"\x00\x00\xFF\xFF", 4}},
    {Element::bfloat16, 5, 2, 0, 65535, {"\x00\x00\xFF\xFF", 4}},
};

class TypedTest : public ::testing::TestWithParam<TypedCase> {};

TEST_P(TypedTest, EntriesAreReadPackedAndSingle) {
  const TypedCase& c = GetParam();
  const std::string start = head(c.element, {c.elements});
  const std::string one = num(c.field, c.least);
  const std::string other = num(c.field, c.largest);
  EXPECT_EQ(data_of(start + packed(c.field, {c.least, c.largest})).value(), c.bytes);
  EXPECT_EQ(data_of(start + one + other).value(), c.bytes);
  EXPECT_EQ(data_of(start + one + sub(c.field, "") + packed(c.field, {c.largest})).value(),
            c.bytes);
  EXPECT_EQ(data_of(packed(c.field, {c.least, c.largest}) + start).value(), c.bytes);
}

TEST_P(TypedTest, EntriesBeyondTheirTypeAreRefused) {
  const TypedCase& c = GetParam();
  for (const int64_t value : {c.least - 1, c.largest + 1, INT64_MIN, INT64_MAX}) {
    EXPECT_TRUE(fails(data_of(head(c.element, {c.elements}) + packed(c.field, {c.least, value})),
                      ErrorCode::malformed, "does not fit"))
        << value;
  }
}

TEST_P(TypedTest, TooFewAndTooManyEntriesAreRefused) {
  const TypedCase& c = GetParam();
  const std::string start = head(c.element, {c.elements});
  EXPECT_TRUE(fails(data_of(start + packed(c.field, {0})), ErrorCode::malformed, "are stored"));
  EXPECT_TRUE(
      fails(data_of(start + packed(c.field, {0, 0, 0})), ErrorCode::malformed, "more data"));
  EXPECT_TRUE(fails(data_of(start + sub(c.field, std::string("\0\x80", 2))), ErrorCode::malformed,
                    "varint"));
  EXPECT_TRUE(
      fails(data_of(start + key(c.field, 5) + "abcd"), ErrorCode::malformed, "0 bytes stored"));
}

TEST_P(TypedTest, RawDataIsTakenAsItIsAndMustFitExactly) {
  const TypedCase& c = GetParam();
  const std::string start = head(c.element, {c.elements});
  EXPECT_EQ(data_of(start + sub(9, c.bytes)).value(), c.bytes);
  EXPECT_TRUE(fails(data_of(start + sub(9, c.bytes + "x")), ErrorCode::malformed, "bytes stored"));
  EXPECT_TRUE(
      fails(data_of(start + sub(9, c.bytes.substr(1))), ErrorCode::malformed, "bytes stored"));
  EXPECT_TRUE(fails(data_of(start), ErrorCode::malformed, "0 bytes stored"));
}

INSTANTIATE_TEST_SUITE_P(All, TypedTest, ::testing::ValuesIn(kTyped),
                         [](const auto& test) { return std::string(name(test.param.element)); });

TEST(TypedFloatTest, FloatsAreReadPackedAndSingle) {
  const std::string start = head(Element::float32, {2});
  EXPECT_EQ(data_of(start + sub(4, "abcdefgh")).value(), "abcdefgh");
  EXPECT_EQ(data_of(start + key(4, 5) + "abcd" + sub(4, "efgh")).value(), "abcdefgh");
  EXPECT_TRUE(fails(data_of(start + sub(4, "abcdefg")), ErrorCode::malformed, "multiple of 4"));
  EXPECT_TRUE(fails(data_of(start + sub(4, "abcd")), ErrorCode::malformed, "are stored"));
  EXPECT_TRUE(fails(data_of(start + sub(4, "abcdefghijkl")), ErrorCode::malformed, "more data"));
  EXPECT_TRUE(fails(data_of(start + num(4, 1) + num(4, 1) + sub(99, "abcdefgh")),
                    ErrorCode::malformed, "0 bytes stored"));
}

TEST(TensorDataTest, AnOddNumberOfPackedElementsTakesAByteMore) {
  EXPECT_EQ(data_of(head(Element::uint4, {3}) + sub(9, "ab")).value(), "ab");
  EXPECT_EQ(data_of(head(Element::uint4, {3}) + packed(5, {1, 2})).value(), "\x01\x02");
  EXPECT_EQ(data_of(head(Element::int2, {5}) + sub(9, "ab")).value(), "ab");
}

TEST(TensorDataTest, ATensorOfNoElementsHasNoData) {
  for (const std::string& data : {std::string(), sub(9, ""), sub(5, "")}) {
    EXPECT_EQ(data_of(head(Element::int8, {2, 0}) + data).value(), "");
  }
  EXPECT_TRUE(
      fails(data_of(head(Element::int8, {0}) + sub(9, "a")), ErrorCode::malformed, "stored"));
  EXPECT_TRUE(
      fails(data_of(head(Element::int8, {0}) + num(5, 1)), ErrorCode::malformed, "more data"));
}

TEST(TensorDataTest, AScalarHasOneElement) {
  EXPECT_EQ(data_of(head(Element::int8, {}) + sub(9, "a")).value(), "a");
}

TEST(TensorDataTest, ContradictionsAreRefused) {
  const std::string start = head(Element::int8, {2});
  EXPECT_TRUE(fails(data_of(start + sub(9, "ab") + num(5, 1)), ErrorCode::malformed, "one field"));
  EXPECT_TRUE(fails(data_of(start + sub(4, "abcdefgh")), ErrorCode::malformed, "field 4"));
  EXPECT_TRUE(fails(data_of(start + sub(3, "") + sub(9, "ab")), ErrorCode::unsupported, "segment"));
  EXPECT_TRUE(
      fails(data_of(num(1, 1) + num(2, 8) + sub(9, "a")), ErrorCode::unsupported, "type 8"));
  EXPECT_TRUE(
      fails(data_of(head(Element::int8, {-1}) + sub(9, "a")), ErrorCode::malformed, "negative"));
  EXPECT_TRUE(fails(data_of(head(Element::int8, {1LL << 62, 2, 0})), ErrorCode::malformed, "2^63"));
}

TEST(TensorDataTest, TheLastRawDataCounts) {
  EXPECT_EQ(data_of(head(Element::int8, {2}) + sub(9, "abcd") + sub(9, "ef")).value(), "ef");
}

TEST(TensorDataTest, MoreThanTheCallerAllowsIsALimit) {
  const std::string message = head(Element::int8, {5}) + sub(9, "abcde");
  EXPECT_EQ(data_of(message, ".", 5).value(), "abcde");
  EXPECT_TRUE(fails(data_of(message, ".", 4), ErrorCode::limit, "5 bytes"));
}

TEST(ExternalDataTest, IsReadWhereTheEntriesSay) {
  const Scratch scratch;
  scratch.write("w", "0123456789");
  const auto read = [&](const std::string& entries) {
    return data_of(head(Element::int8, {4}) + entries + num(14, 1), scratch.path());
  };
  const std::string location = entry("location", "w");
  EXPECT_EQ(read(location + entry("offset", "3") + entry("length", "4")).value(), "3456");
  EXPECT_EQ(read(location + entry("offset", "6")).value(), "6789");
  EXPECT_EQ(read(location + entry("offset", "5")).value(), "5678");
  EXPECT_EQ(read(location + entry("length", "0")).value(), "0123");  // none, as in ONNX Runtime
  EXPECT_EQ(read(entry("length", "0004") + location + entry("note", "x")).value(), "0123");
  EXPECT_TRUE(fails(read(location + entry("length", "5")), ErrorCode::malformed, "length 5"));
  EXPECT_TRUE(fails(read(location + entry("offset", "7")), ErrorCode::malformed, "beyond"));
  EXPECT_TRUE(fails(read(location + entry("offset", "11")), ErrorCode::malformed, "beyond"));
  EXPECT_TRUE(fails(read(location + entry("offset", "7") + entry("length", "4")),
                    ErrorCode::malformed, "beyond"));
  EXPECT_TRUE(fails(read(location + entry("offset", "9223372036854775807") +
                         entry("length", "9223372036854775807")),
                    ErrorCode::malformed, "length 9223372036854775807"));
  EXPECT_TRUE(fails(read(entry("offset", "0")), ErrorCode::malformed, "without a location"));
  EXPECT_TRUE(fails(read(location + location), ErrorCode::malformed, "twice"));
  EXPECT_TRUE(fails(read(location + sub(9, "")), ErrorCode::malformed, "data in the model"));
}

/// An open reader with all that it stands on.
struct OpenReader {
  explicit OpenReader(std::string_view message) : source(source_of(message)), files("./m") {
    EXPECT_TRUE(succeeds(read_tensor(source, source.all(), store, tensor)));
  }
  Result<TensorReader> open() { return TensorReader::open(source, files, tensor); }

  Source source;
  ExternalFiles files;
  Store store;
  Tensor tensor;
};

TEST(TensorReaderTest, ReadsInPartsOfAnySize) {
  std::string entries;
  std::string expected;
  for (int i = 0; i < 300'000; ++i) {  // over a window, and with values of one and two bytes
    entries += varint(static_cast<uint64_t>(i % 251));
    expected += static_cast<char>(i % 251);
  }
  OpenReader typed(head(Element::uint8, {300'000}) + sub(5, entries));
  OpenReader raw(head(Element::uint8, {300'000}) + sub(9, expected));
  for (OpenReader* open : {&typed, &raw}) {
    TensorReader reader = open->open().value();
    EXPECT_EQ(reader.seekable(), open == &raw);
    EXPECT_EQ(reader.count(), 300'000);
    std::string seen(expected.size(), '?');
    for (size_t at = 0, step = 1; at < seen.size(); at += step, step = step * 3 + 1) {
      const size_t size = std::min(step, seen.size() - at);
      ASSERT_TRUE(succeeds(reader.read(static_cast<int64_t>(size),
                                       std::as_writable_bytes(std::span(seen).subspan(at, size)))));
    }
    EXPECT_TRUE(seen == expected);
    EXPECT_TRUE(succeeds(reader.finish()));
  }
}

TEST(TensorReaderTest, ShortMessagesMakeNoClaims) {
  OpenReader open(head(Element::uint8, {int64_t{1} << 40}) + sub(5, "\x01"));
  EXPECT_TRUE(fails(open.open(), ErrorCode::malformed, "in a message of"));
}

}  // namespace
}  // namespace dequant::format::onnx
