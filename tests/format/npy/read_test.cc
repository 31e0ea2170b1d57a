// Reading .npy data: byte orders, element orders, codes under other names.
#include <gtest/gtest.h>

#include "format/npy/npy.h"
#include "npy_bytes.h"
#include "scratch.h"
#include "support/expect_error.h"

namespace dequant::format {
namespace {

using testing::bytes_of;
using testing::fails;
using testing::npy_file;
using testing::npy_text;
using testing::Scratch;
using testing::succeeds;
using testing::text_of;

class ReadNpyTest : public ::testing::Test {
 protected:
  Result<TensorData> read(std::string_view descr, std::string_view shape, std::string_view data,
                          std::optional<Element> as = {}, std::string_view fortran = "False") {
    warning_.clear();
    return read_npy(scratch_.write("a.npy", npy_file(npy_text(descr, shape, fortran), data)), as,
                    &warning_);
  }

  Scratch scratch_;
  std::string warning_;
};

TEST_F(ReadNpyTest, ReadsEveryTypeOfItsOwn) {
  const std::pair<const char*, Element> types[]{
      {"|u1", Element::uint8},   {"|i1", Element::int8},   {"<u2", Element::uint16},
      {"<i2", Element::int16},   {"<u4", Element::uint32}, {"<i4", Element::int32},
      {"<f2", Element::float16}, {"<f4", Element::float32}};
  for (const auto& [descr, element] : types) {
    const auto size = static_cast<size_t>(2 * bits(element) / 8);
    const std::string data = std::string("abcdefgh").substr(0, size);
    const auto tensor = read(descr, "(2, 1)", data);
    ASSERT_TRUE(succeeds(tensor)) << descr;
    EXPECT_EQ(tensor->element, element);
    EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 1}));
    EXPECT_EQ(tensor->bytes, bytes_of(std::vector<char>(data.begin(), data.end())));
    EXPECT_EQ(warning_, "");
  }
}

TEST_F(ReadNpyTest, SwapsBigEndianItems) {
  EXPECT_EQ(read(">i2", "(2,)", "\x01\x02\x03\x04").value().bytes,
            bytes_of<uint16_t>({0x0102, 0x0304}));
  EXPECT_EQ(read(">f4", "()", "\x01\x02\x03\x04").value().bytes, bytes_of<uint32_t>({0x01020304}));
}

TEST_F(ReadNpyTest, TransposesFortranOrder) {
  // Row-major [[0, 1, 2], [3, 4, 5]] with the first index fastest.
  EXPECT_EQ(read("<u2", "(2, 3)", text_of<uint16_t>({0, 3, 1, 4, 2, 5}), {}, "True").value().bytes,
            bytes_of<uint16_t>({0, 1, 2, 3, 4, 5}));
  const auto cube =
      read("|u1", "(2, 3, 2)", std::string("\0\6\2\10\4\12\1\7\3\11\5\13", 12), {}, "True");
  EXPECT_EQ(cube.value().bytes, bytes_of<uint8_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(read(">u2", "(2, 2)", std::string("\0\1\0\2\0\3\0\4", 8), {}, "True").value().bytes,
            bytes_of<uint16_t>({1, 3, 2, 4}));
  EXPECT_TRUE(read("<u2", "(0, 3)", "", {}, "True").value().bytes.empty());
  EXPECT_EQ(read("|u1", "()", "x", {}, "True").value().bytes, bytes_of<char>({'x'}));
}

TEST_F(ReadNpyTest, WarnsOfBytesAfterTheData) {
  ASSERT_TRUE(succeeds(read("|u1", "(2,)", "ab--")));
  EXPECT_NE(warning_.find("a.npy: 2 bytes after the data"), std::string::npos) << warning_;
}

TEST_F(ReadNpyTest, UnsignedItemsCanBeCodesOfFloatsOfTheirWidth) {
  for (const Element as : {Element::float8e4m3fn, Element::float8e4m3fnuz, Element::float8e5m2,
                           Element::float8e5m2fnuz, Element::float8e8m0}) {
    const auto tensor = read("|u1", "(2,)", "\x81\x7F", as);
    ASSERT_TRUE(succeeds(tensor));
    EXPECT_EQ(tensor->element, as);
    EXPECT_EQ(tensor->bytes, bytes_of<uint8_t>({0x81, 0x7F}));
  }
  EXPECT_EQ(read("<u2", "(1,)", "\x80\x3F", Element::bfloat16).value().element, Element::bfloat16);
  EXPECT_EQ(read(">u2", "(1,)", "\x3F\x80", Element::bfloat16).value().bytes,
            bytes_of<uint16_t>({0x3F80}));
}

TEST_F(ReadNpyTest, OneCodePerByteIsPackedLowBitsFirst) {
  EXPECT_EQ(read("|u1", "(3,)", "\x01\x0F\x07", Element::uint4).value().bytes,
            bytes_of<uint8_t>({0xF1, 0x07}));
  EXPECT_EQ(read("|u1", "(3,)", "\x01\x0F\x07", Element::float4e2m1).value().bytes,
            bytes_of<uint8_t>({0xF1, 0x07}));
  EXPECT_EQ(read("|u1", "(2,)", "\x01\x0F", Element::int4).value().bytes,
            bytes_of<uint8_t>({0xF1}));
  EXPECT_EQ(read("|i1", "(3,)", "\x01\xFF\xF8", Element::int4).value().bytes,
            bytes_of<uint8_t>({0xF1, 0x08}));
  EXPECT_EQ(read("|u1", "(5,)", "\3\2\1\3\2", Element::uint2).value().bytes,
            bytes_of<uint8_t>({0xDB, 0x02}));
  EXPECT_EQ(read("|i1", "(5,)", "\xFF\xFE\1\xFF\xFE", Element::int2).value().bytes,
            bytes_of<uint8_t>({0xDB, 0x02}));
  EXPECT_EQ(read("|u1", "(2, 2)", "\1\3\2\4", Element::uint4, "True").value().bytes,
            bytes_of<uint8_t>({0x21, 0x43}));
  EXPECT_TRUE(read("|u1", "(0,)", "", Element::uint4).value().bytes.empty());
}

TEST_F(ReadNpyTest, AValueThatDoesNotFitIsNamedByItsIndex) {
  struct Row {
    const char* descr;
    Element as;
    int value;
    bool fits;
  };
  for (const Row& row :
       {Row{"|u1", Element::uint4, 15, true}, Row{"|u1", Element::uint4, 16, false},
        Row{"|u1", Element::int4, 15, true}, Row{"|u1", Element::int4, 0xFF, false},
        Row{"|i1", Element::int4, 7, true}, Row{"|i1", Element::int4, 8, false},
        Row{"|i1", Element::int4, -8, true}, Row{"|i1", Element::int4, -9, false},
        Row{"|i1", Element::uint4, -1, false}, Row{"|i1", Element::uint4, 15, true},
        Row{"|i1", Element::float4e2m1, -1, false}, Row{"|u1", Element::uint2, 4, false},
        Row{"|i1", Element::int2, 2, false}, Row{"|i1", Element::int2, -2, true},
        Row{"<V1", Element::int4, -1, true}, Row{"<V1", Element::int4, 15, true},
        Row{"<V1", Element::int4, -9, false}, Row{"<V1", Element::uint4, -1, false}}) {
    const std::string data{'\0', '\0', static_cast<char>(row.value)};
    const auto tensor = read(row.descr, "(3,)", data, row.as);
    if (row.fits) {
      EXPECT_TRUE(succeeds(tensor)) << row.descr << row.value;
    } else {
      EXPECT_TRUE(fails(tensor, ErrorCode::malformed, "element 2 ")) << row.descr << row.value;
    }
  }
  EXPECT_TRUE(fails(read("|i1", "(1,)", "\xF7", Element::int4), ErrorCode::malformed, "is -9"));
}

TEST_F(ReadNpyTest, WidthsAloneMustBeTold) {
  EXPECT_TRUE(fails(read("<V2", "(1,)", "ab"), ErrorCode::unsupported, "what element"));
  EXPECT_TRUE(fails(read("|V1", "(1,)", "a"), ErrorCode::unsupported, "what element"));
  EXPECT_TRUE(fails(read("<f1", "(1,)", "a"), ErrorCode::unsupported, "what element"));
  EXPECT_EQ(read("<V2", "(1,)", "ab", Element::bfloat16).value().element, Element::bfloat16);
  EXPECT_EQ(read("<f1", "(1,)", "a", Element::float8e5m2).value().element, Element::float8e5m2);
  EXPECT_EQ(read("<V1", "(1,)", "a", Element::uint8).value().element, Element::uint8);
  EXPECT_TRUE(
      fails(read("<V2", "(1,)", "ab", Element::float32), ErrorCode::invalid_argument, "float32"));
  EXPECT_TRUE(fails(read("<V2", "(1,)", "ab", Element::int4), ErrorCode::invalid_argument, "int4"));
}

TEST_F(ReadNpyTest, OtherReinterpretationsAreRefused) {
  const std::pair<const char*, Element> pairs[]{
      {"|i1", Element::uint8},    {"|u1", Element::int8},     {"|i1", Element::float8e4m3fn},
      {"<i2", Element::bfloat16}, {"<f2", Element::bfloat16}, {"<u2", Element::uint8},
      {"<f4", Element::float16},  {"<u2", Element::int4},     {"<i4", Element::float32}};
  for (const auto& [descr, as] : pairs) {
    EXPECT_TRUE(fails(read(descr, "(1,)", "abcd", as), ErrorCode::invalid_argument, name(as)))
        << descr;
  }
}

TEST_F(ReadNpyTest, AMissingFileIsAnIoError) {
  EXPECT_TRUE(fails(read_npy(scratch_.path("none.npy")), ErrorCode::io, "none.npy"));
  EXPECT_TRUE(fails(read_npy(scratch_.path()), ErrorCode::io, "regular file"));
}

}  // namespace
}  // namespace dequant::format
