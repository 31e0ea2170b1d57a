// What an .npy header may say, and every way in which it can be wrong.
#include "format/npy/header.h"

#include <gtest/gtest.h>

#include "npy_bytes.h"
#include "scratch.h"
#include "support/expect_error.h"

namespace dequant::format {
namespace {

using testing::fails;
using testing::npy_file;
using testing::npy_text;
using testing::Scratch;
using testing::succeeds;

class NpyHeaderTest : public ::testing::Test {
 protected:
  Result<NpyHeader> read(std::string_view bytes) {
    DEQUANT_TRY(const InputFile file, InputFile::open(scratch_.write("a.npy", bytes)));
    return read_npy_header(file);
  }

  /// A header of four bytes of data whose text is given.
  Result<NpyHeader> read_text(std::string_view text, int version = 1) {
    return read(npy_file(text, "data", version));
  }

  Scratch scratch_;
};

TEST_F(NpyHeaderTest, ReadsTheHeaderThatNumpyWrites) {
  const auto header = read(npy_file(npy_text("<f4", "(2, 3)"), std::string(24, 'x')));
  ASSERT_TRUE(succeeds(header));
  EXPECT_EQ(header->stored, Element::float32);
  EXPECT_EQ(header->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(header->count, 6);
  EXPECT_EQ(header->data_bytes, 24);
  EXPECT_EQ(header->trailing_bytes, 0);
  EXPECT_FALSE(header->fortran || header->big_endian || header->raw);
}

TEST_F(NpyHeaderTest, ReadsAllThreeVersions) {
  for (const int version : {1, 2, 3}) {
    const std::string text = npy_text("<i4", "(1,)");
    const auto header = read_text(text, version);
    ASSERT_TRUE(succeeds(header)) << version;
    EXPECT_EQ(header->data_offset, (version == 1 ? 10 : 12) + static_cast<int64_t>(text.size()));
  }
}

TEST_F(NpyHeaderTest, TruncatedAtEveryByteIsAnError) {
  const std::string whole = npy_file(npy_text("<f4", "(1,)"), "data");
  for (size_t n = 0; n < whole.size(); ++n) {
    EXPECT_TRUE(fails(read(whole.substr(0, n)), ErrorCode::malformed, "a.npy")) << n;
  }
}

TEST_F(NpyHeaderTest, AWrongMagicIsAnError) {
  const std::string whole = npy_file(npy_text("<f4", "(1,)"), "data");
  for (size_t i = 0; i < 6; ++i) {
    std::string wrong = whole;
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    EXPECT_TRUE(fails(read(wrong), ErrorCode::malformed, "NUMPY")) << i;
  }
}

TEST_F(NpyHeaderTest, OtherVersionsAreAnError) {
  for (const std::string_view version :
       {std::string_view("\0\0", 2), std::string_view("\x04\0", 2), std::string_view("\xFF\xFF", 2),
        std::string_view("\1\1", 2)}) {
    std::string bytes = npy_file(npy_text("<f4", "(1,)"), "data");
    bytes.replace(6, 2, version);
    EXPECT_TRUE(fails(read(bytes), ErrorCode::malformed, "version"));
  }
}

TEST_F(NpyHeaderTest, AHeaderLengthBeyondTheFileIsAnError) {
  EXPECT_TRUE(fails(read(npy_file("")), ErrorCode::malformed, "ends"));
  EXPECT_TRUE(fails(read("\x93NUMPY\x01" + std::string("\0\xFF\xFF{}", 5)), ErrorCode::malformed,
                    "header length 65535"));
  EXPECT_TRUE(fails(read("\x93NUMPY\x02" + std::string("\0\xFF\xFF\xFF\xFF{}", 7)),
                    ErrorCode::malformed, "header length 4294967295"));
}

TEST_F(NpyHeaderTest, AnHonestHeaderBeyond64KiBIsOverTheLimit) {
  std::string text = npy_text("<f4", "(1,)");
  EXPECT_TRUE(succeeds(read_text(text + std::string(65536 - text.size(), ' '), 2)));
  EXPECT_TRUE(
      fails(read_text(text + std::string(65537 - text.size(), ' '), 2), ErrorCode::limit, "65536"));
  EXPECT_TRUE(fails(read_text(std::string(100'000, ' ') + text, 2), ErrorCode::limit, "65536"));
}

TEST_F(NpyHeaderTest, BombsAreFoundAtTheirFirstWrongByte) {
  const std::string deep(100'000, '(');
  const std::string deep_list(100'000, '[');
  const std::string digits(1'000'000, '9');
  for (const std::string& text :
       {deep, deep_list, "{'descr': " + deep_list, "{'shape': (" + digits + ",)}",
        "{'shape': (" + deep, std::string("__import__('os')"), std::string("{'descr': '\\x3cf4'}"),
        std::string("{'descr': '<f\n4'}"), std::string("{u'descr': '<f4'}"),
        std::string("{'descr': '<' 'f4'}"), std::string("{'descr': '<f4"),
        std::string("{'descr': ''<f4'}"), "{'descr': '<f4'}" + std::string(1, '\0')}) {
    EXPECT_TRUE(fails(read_text(text, 2), ErrorCode::malformed, "byte")) << text.substr(0, 40);
  }
}

TEST_F(NpyHeaderTest, KeysMayComeInAnyOrderQuoteAndSpacing) {
  for (const std::string_view text : {
           "{'shape': (1,), 'fortran_order': False, 'descr': '<f4'}",
           "{\"descr\": \"<f4\", 'fortran_order': False, 'shape': (1,)}",
           "{'descr':'<f4','fortran_order':False,'shape':(1,),}",
           " { 'descr' : '<f4' ,\t'fortran_order' : False ,\r\n 'shape' : ( 1 , ) , } \n",
       }) {
    EXPECT_TRUE(succeeds(read_text(text))) << text;
  }
}

TEST_F(NpyHeaderTest, MissingExtraAndRepeatedKeysAreErrors) {
  const std::pair<const char*, const char*> texts[]{
      {"{}", "descr"},
      {"{'descr': '<f4', 'shape': (1,)}", "no 'fortran_order'"},
      {"{'descr': '<f4', 'fortran_order': False}", "no 'shape'"},
      {"{'fortran_order': False, 'shape': (1,)}", "no 'descr'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "'x'"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "twice"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}", "twice"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} 1", "padding"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}}", "padding"},
      {"{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}", "'}'"},
      {"{'descr': '<f4',, 'fortran_order': False, 'shape': (1,)}", "string"},
      {"{, 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "string"},
      {"{'descr' '<f4', 'fortran_order': False, 'shape': (1,)}", "':'"},
      {"['descr']", "'{'"},
  };
  for (const auto& [text, word] : texts) {
    EXPECT_TRUE(fails(read_text(text), ErrorCode::malformed, word)) << text;
  }
}

TEST_F(NpyHeaderTest, TypesThatAreNoElementsAreUnsupported) {
  for (const std::string_view descr :
       {"|O",  "O8",  "<U5", "<M8[s]", "V16", "|V16", "<V4", "<f16", "<f8",  "<i8", "<u8", "|b1",
        "|S3", "<c8", "|f4", "|u2",    ">V2", "f4",   "<",   "",     "<f44", "!f4", "<F4", ">V1"}) {
    EXPECT_TRUE(fails(read_text(npy_text(descr, "(1,)")), ErrorCode::unsupported, "type")) << descr;
  }
  for (const std::string_view list :
       {"[('a', '<f4')]", "[('a', '<f4', (2,)), ('b', [('c', '|O')])]", "[]"}) {
    const std::string text =
        "{'descr': " + std::string(list) + ", 'fortran_order': False, 'shape': (1,)}";
    EXPECT_TRUE(fails(read_text(text), ErrorCode::unsupported, "type")) << list;
  }
}

TEST_F(NpyHeaderTest, ByteOrdersAreUnderstood) {
  struct Row {
    const char* descr;
    Element stored;
    bool big_endian;
    bool raw;
  };
  for (const Row& row :
       {Row{"=f4", Element::float32, false, false}, Row{">f4", Element::float32, true, false},
        Row{">i2", Element::int16, true, false}, Row{">u1", Element::uint8, false, false},
        Row{"|u1", Element::uint8, false, false}, Row{"<i1", Element::int8, false, false},
        Row{"<V2", Element::uint16, false, true}, Row{"|V1", Element::uint8, false, true},
        Row{"<f1", Element::uint8, false, true}}) {
    const auto header = read_text(npy_text(row.descr, "(1,)"));
    ASSERT_TRUE(succeeds(header)) << row.descr;
    EXPECT_EQ(header->stored, row.stored) << row.descr;
    EXPECT_EQ(header->big_endian, row.big_endian) << row.descr;
    EXPECT_EQ(header->raw, row.raw) << row.descr;
  }
}

TEST_F(NpyHeaderTest, ShapesAreTuplesOfPlainNumbers) {
  const std::pair<const char*, std::vector<int64_t>> good[]{
      {"()", {}},
      {"( )", {}},
      {"(1,)", {1}},
      {"(1, 1)", {1, 1}},
      {"(1, 1,)", {1, 1}},
      {"(0, 7)", {0, 7}},
      {"(3L, 0L)", {3, 0}},
      // What a zero dimension hides must still be sizes.
      {"(0, 4611686018427387904)", {0, int64_t{1} << 62}}};
  for (const auto& [shape, dims] : good) {
    const auto header = read_text(npy_text("|u1", shape));
    ASSERT_TRUE(succeeds(header)) << shape;
    EXPECT_EQ(header->shape, dims);
  }
  for (const std::string_view shape : {"(3)",
                                       "(-1,)",
                                       "(+1,)",
                                       "(True,)",
                                       "(2**3,)",
                                       "(1.0,)",
                                       "(0x1,)",
                                       "(01,)",
                                       "(1_0,)",
                                       "('1',)",
                                       "(,)",
                                       "(1,,)",
                                       "(1 1)",
                                       "(1",
                                       "1",
                                       "[1]",
                                       "((1,),)",
                                       "(3l,)",
                                       "(3LL,)",
                                       "(L,)",
                                       "(None,)",
                                       "(9223372036854775808,)",
                                       "(99999999999999999999,)",
                                       "(9223372036854775807, 2)",
                                       "(4294967296, 4294967296)",
                                       "(0, 4294967296, 4294967296)",
                                       "(4294967296, 4294967296, 0)"}) {
    EXPECT_TRUE(fails(read_text(npy_text("|u1", shape)), ErrorCode::malformed, "a.npy")) << shape;
  }
  // Elements fit in 63 bits, bytes do not.
  EXPECT_TRUE(
      fails(read_text(npy_text("<f4", "(4611686018427387904,)")), ErrorCode::malformed, "shape"));
}

TEST_F(NpyHeaderTest, LongIntegersOfPython2EndWithVersion2) {
  EXPECT_TRUE(succeeds(read_text(npy_text("<f4", "(1L,)"), 1)));
  EXPECT_TRUE(succeeds(read_text(npy_text("<f4", "(1L,)"), 2)));
  EXPECT_TRUE(fails(read_text(npy_text("<f4", "(1L,)"), 3), ErrorCode::malformed, "'L'"));
}

TEST_F(NpyHeaderTest, MoreThan32DimensionsAreOverTheLimit) {
  std::string dims;
  for (int i = 0; i < 32; ++i) dims += "1,";
  EXPECT_TRUE(succeeds(read_text(npy_text("<f4", "(" + dims + ")"))));
  EXPECT_TRUE(fails(read_text(npy_text("<f4", "(" + dims + "1)")), ErrorCode::limit, "32"));
}

TEST_F(NpyHeaderTest, FortranOrderIsTrueOrFalse) {
  EXPECT_TRUE(read_text(npy_text("<f4", "(1,)", "True"))->fortran);
  for (const std::string_view value : {"1", "0", "'True'", "true", "Truex", "None", ""}) {
    EXPECT_TRUE(fails(read_text(npy_text("<f4", "(1,)", value)), ErrorCode::malformed, "byte"))
        << value;
  }
}

TEST_F(NpyHeaderTest, DataMayBeLongButNotShort) {
  const std::string text = npy_text("<f4", "(2,)");
  EXPECT_TRUE(fails(read(npy_file(text, "1234567")), ErrorCode::malformed, "7 bytes of data"));
  const auto longer = read(npy_file(text, "12345678+"));
  ASSERT_TRUE(succeeds(longer));
  EXPECT_EQ(longer->trailing_bytes, 1);
  EXPECT_TRUE(succeeds(read(npy_file(npy_text("<f4", "(3, 0, 2)")))));
}

TEST_F(NpyHeaderTest, ArchivesAreUnsupported) {
  EXPECT_TRUE(fails(read("PK\x03\x04" + std::string(100, 'x')), ErrorCode::unsupported, ".npz"));
  EXPECT_TRUE(fails(read("PK\x05\x06" + std::string(18, '\0')), ErrorCode::unsupported, ".npz"));
}

}  // namespace
}  // namespace dequant::format
