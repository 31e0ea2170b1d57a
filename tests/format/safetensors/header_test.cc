// What a safetensors file may hold, and the ways in which it can be wrong as a whole.
#include "format/safetensors/header.h"

#include <filesystem>
#include <fstream>

#include "reading.h"

namespace dequant::format::safetensors {
namespace {

using namespace std::string_view_literals;

class SafetensorsHeaderTest : public SafetensorsTest {
 protected:
  /// A file that has that length of header, and that size, most of which takes no space on the
  /// disk.
  Result<Header> read_sparse(uint64_t length, uint64_t size) {
    const std::string path = scratch_.write("a.safetensors", length_bytes(length) + "{}");
    std::filesystem::resize_file(path, size);
    DEQUANT_TRY(const InputFile file, InputFile::open(path));
    return Header::read(file);
  }
};

/// Bytes that this process has read from files, counted by the system; -1 where it does not.
int64_t bytes_read() {
  std::ifstream counters("/proc/self/io");
  std::string key;
  int64_t count = -1;
  counters >> key >> count;
  return key == "rchar:" ? count : -1;
}

const std::string kEntry = safetensors_entry("a", "U8", "[1]", "[0,1]");

TEST_F(SafetensorsHeaderTest, TwoTensorsAndMetadata) {
  const std::string text = "{\"__metadata__\":{\"format\":\"pt\",\"b\":\"\"}," +
                           safetensors_entry("w", "F8_E4M3", "[2,3]", "[8,14]") + "," +
                           safetensors_entry("s", "F32", "[2]", "[0,8]") + "}  ";
  const auto header = read(text, std::string(14, 'x'));
  ASSERT_TRUE(succeeds(header));
  ASSERT_EQ(header->tensors().size(), 2U);
  const Tensor& s = header->tensors()[0];
  const Tensor& w = header->tensors()[1];
  EXPECT_EQ(s.name, "s");
  EXPECT_EQ(s.dtype->element, Element::float32);
  EXPECT_EQ(s.offset, static_cast<int64_t>(8 + text.size()));
  EXPECT_EQ(s.bytes, 8);
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.dtype->element, Element::float8e4m3fn);
  EXPECT_EQ(std::vector<int64_t>(w.shape.begin(), w.shape.end()), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(w.offset, static_cast<int64_t>(8 + text.size() + 8));
  EXPECT_EQ(w.bytes, 6);
  ASSERT_EQ(header->metadata().size(), 2U);
  EXPECT_EQ(header->metadata()[0].key(), "format");
  EXPECT_EQ(header->metadata()[0].value(), "pt");
  EXPECT_EQ(header->metadata()[1].key(), "b");
  EXPECT_EQ(header->metadata()[1].value(), "");
  EXPECT_EQ(header->find("w"), &w);
  EXPECT_EQ(header->find("s"), &s);
  EXPECT_EQ(header->find("__metadata__"), nullptr);
  EXPECT_EQ(header->find(""), nullptr);
}

TEST_F(SafetensorsHeaderTest, AHeaderWithoutTensors) {
  for (const std::string_view text : {"{}", "{}      ", "{\"__metadata__\":{}}"}) {
    const auto header = read(text, "");
    ASSERT_TRUE(succeeds(header)) << text;
    EXPECT_TRUE(header->tensors().empty());
    EXPECT_TRUE(header->metadata().empty());
  }
}

TEST_F(SafetensorsHeaderTest, AFileOfFewerThanEightBytes) {
  for (size_t n = 0; n < 8; ++n) {
    EXPECT_TRUE(fails(read(std::string(n, '{')), ErrorCode::malformed, "length")) << n;
  }
}

TEST_F(SafetensorsHeaderTest, AHeaderOfNoneOrOneByte) {
  EXPECT_TRUE(refuses("", "", "begins with \"\""));
  EXPECT_TRUE(refuses("", "{}", "begins with \"\""));
  EXPECT_TRUE(refuses("{", "", "byte 9: found the end of the header"));
  EXPECT_TRUE(refuses("{", "}", "byte 9: found the end of the header"));
}

TEST_F(SafetensorsHeaderTest, ALengthBeyondTheFile) {
  for (const uint64_t length : {uint64_t{3}, uint64_t{100'000'000}}) {
    EXPECT_TRUE(fails(read(length_bytes(length) + "{}"), ErrorCode::malformed,
                      "header length " + std::to_string(length) + " in a file with 2 bytes"));
  }
  for (const uint64_t length : {uint64_t{100'000'001}, uint64_t{1} << 63, ~uint64_t{0}}) {
    EXPECT_TRUE(fails(read(length_bytes(length) + "{}"), ErrorCode::malformed,
                      std::to_string(length) + " is more than 100000000"));
  }
}

TEST_F(SafetensorsHeaderTest, AHeaderOfTheGreatestLengthAndOneByteMore) {
  std::string text = "{" + kEntry + "}";
  text.append(100'000'000 - text.size(), ' ');
  EXPECT_TRUE(succeeds(read(text, "x")));
  EXPECT_TRUE(fails(read_sparse(100'000'001, 100'000'010), ErrorCode::malformed,
                    "header length 100000001 is more than 100000000"));
}

TEST_F(SafetensorsHeaderTest, AFirstByteOtherThanABrace) {
  for (const std::string_view start : {" "sv, "\n"sv, "\xEF\xBB\xBF"sv, "["sv, "\""sv, "\0"sv}) {
    EXPECT_TRUE(refuses(std::string(start) + "{}", "", "byte 8: the header begins with")) << start;
  }
}

TEST_F(SafetensorsHeaderTest, BytesAfterTheObject) {
  EXPECT_TRUE(succeeds(read("{" + kEntry + "}" + std::string(100'000, ' '), "x")));
  for (const std::string_view rest :
       {"\0"sv, "\t"sv, "\n"sv, "\r"sv, "{}"sv, ","sv, "}"sv, " \0"sv, "   \n"sv, "\xA0"sv}) {
    EXPECT_TRUE(refuses("{" + kEntry + "}" + std::string(rest), "x", "expected only spaces"))
        << rest;
  }
}

TEST_F(SafetensorsHeaderTest, TheSameNameTwice) {
  const std::string other = safetensors_entry("\\u0061", "U8", "[1]", "[1,2]");
  EXPECT_TRUE(refuses("{" + kEntry + "," + kEntry + "}", "x", "tensor \"a\" occurs twice"));
  EXPECT_TRUE(refuses("{" + kEntry + "," + other + "}", "xy", "tensor \"a\" occurs twice"));
  EXPECT_TRUE(
      refuses("{\"__metadata__\":{},\"__metadata__\":{}}", "", "__metadata__ occurs twice"));
  EXPECT_TRUE(refuses("{\"__metadata__\":{},\"\\u005f_metadata__\":{}}", "", "occurs twice"));
  EXPECT_TRUE(refuses("{\"__metadata__\":{\"k\":\"v\",\"\\u006b\":\"v\"}}", "",
                      "__metadata__: key \"k\" occurs twice"));
}

TEST_F(SafetensorsHeaderTest, MetadataThatIsNoObjectOfStrings) {
  for (const std::string_view value : {"nul", "nulls", "1", "\"x\"", "[]", "true"}) {
    EXPECT_TRUE(refuses("{\"__metadata__\":" + std::string(value) + "}", "",
                        "__metadata__: byte 24: found"))
        << value;
  }
  for (const std::string_view value : {"null", "1", "1.5", "[\"x\"]", "{\"x\":\"y\"}", "false"}) {
    EXPECT_TRUE(refuses("{\"__metadata__\":{\"k\":" + std::string(value) + "}}", "",
                        "__metadata__: \"k\": byte 29: found"))
        << value;
  }
}

TEST_F(SafetensorsHeaderTest, MetadataThatAreNullWereRefused) {
  for (const std::string_view text : {"{\"__metadata__\":null}", "{\"__metadata__\" : null }"}) {
    const auto header = read(text, "");
    ASSERT_TRUE(succeeds(header)) << text;
    EXPECT_FALSE(header->has_metadata());
  }
  const auto header = read("{\"__metadata__\":null," + kEntry + "}", "x");
  ASSERT_TRUE(succeeds(header));
  EXPECT_NE(header->find("a"), nullptr);
  EXPECT_TRUE(read("{\"__metadata__\":{}}", "")->has_metadata());
  EXPECT_TRUE(refuses("{\"__metadata__\":null,\"__metadata__\":{}}", "", "occurs twice"));
  EXPECT_TRUE(refuses("{\"__metadata__\":n", "", "__metadata__: byte 24: found n, expected"));
}

TEST_F(SafetensorsHeaderTest, AMillionKeysOfMetadata) {
  std::string text = "{\"__metadata__\":{";
  for (int i = 0; i < 1'000'000; ++i) {
    text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"" + std::to_string(i % 7) + "\"";
  }
  const auto header = read(text + "}}", "");
  ASSERT_TRUE(succeeds(header));
  ASSERT_EQ(header->metadata().size(), 1'000'000U);
  EXPECT_EQ(header->metadata()[999'999].key(), "999999");
  EXPECT_EQ(header->metadata()[999'999].value(), std::to_string(999'999 % 7));
}

TEST_F(SafetensorsHeaderTest, EachByteOfALargeHeaderIsReadOnce) {
  std::string text = "{\"__metadata__\":{";
  for (int i = 0; i < 100'000; ++i) {
    text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"\"";
  }
  text += '}';
  for (int i = 0; i < 100'000; ++i) {
    text += "," + safetensors_entry(std::to_string(i), "U8", "[8]", "[0,8]");
  }
  const std::string bytes = safetensors_file(text + "}", "12345678");
  const auto file = InputFile::open(scratch_.write("a.safetensors", bytes));
  ASSERT_TRUE(succeeds(file));
  const int64_t before = bytes_read();
  EXPECT_TRUE(fails(Header::read(*file), ErrorCode::malformed, "data_offsets begin at 0, but"));
  if (before < 0) GTEST_SKIP() << "the system does not count";
  EXPECT_LT(bytes_read() - before, static_cast<int64_t>(bytes.size()) + 4096);
}

TEST_F(SafetensorsHeaderTest, AMetadataValueOf50Megabytes) {
  std::string value(50'000'000, 'x');
  for (size_t i = 0; i < value.size(); i += 4099) value[i] = static_cast<char>('a' + i % 26);
  const auto header = read("{\"__metadata__\":{\"k\":\"" + value + "\"}}", "");
  ASSERT_TRUE(succeeds(header));
  EXPECT_TRUE(header->metadata()[0].value() == value);
}

TEST_F(SafetensorsHeaderTest, ValuesNestedAHundredThousandTimes) {
  const std::string deep(100'000, '[');
  const std::string objects = [] {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += "{\"a\":";
    return text;
  }();
  for (const std::string& nested : {deep, objects}) {
    EXPECT_TRUE(refuses("{\"a\":{\"x\":" + nested, "", "tensor \"a\": field \"x\" is not one of"));
    EXPECT_TRUE(refuses("{\"a\":{\"shape\":" + nested, "", "tensor \"a\": shape: byte "));
    EXPECT_TRUE(refuses("{\"__metadata__\":" + nested, "", "__metadata__: "));
  }
  EXPECT_TRUE(refuses("{\"a\":" + deep, "", "found an array, expected an object"));
}

TEST_F(SafetensorsHeaderTest, NamesOfAnyText) {
  const std::string long_name(1'000'000, 'n');
  const std::pair<std::string, std::string> names[]{{"", ""},
                                                    {long_name, long_name},
                                                    {"__metadata", "__metadata"},
                                                    {"__metadata___", "__metadata___"},
                                                    {"../x", "../x"},
                                                    {"/etc/passwd", "/etc/passwd"},
                                                    {"%s%n{}", "%s%n{}"},
                                                    {"\\u0000", std::string(1, '\0')},
                                                    {"\\u001b[31m\\r\\n", "\x1b[31m\r\n"},
                                                    {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"}};
  for (const auto& [spelled, meant] : names) {
    const auto header = read("{" + safetensors_entry(spelled, "U8", "[1]", "[0,1]") + "}", "x");
    ASSERT_TRUE(succeeds(header)) << meant.substr(0, 40);
    EXPECT_TRUE(header->tensors()[0].name == meant);
    EXPECT_TRUE(header->find(meant) == header->tensors().data());
  }
}

TEST_F(SafetensorsHeaderTest, NamesAreEscapedInMessages) {
  const std::string text =
      "{" + safetensors_entry("\\u001b[31m\\u0000\\n", "U8", "[2]", "[0,1]") + "}";
  EXPECT_TRUE(refuses(text, "x", "tensor \"\\x1b[31m\\x00\\x0a\": "));
}

TEST_F(SafetensorsHeaderTest, AHeaderIsMoved) {
  auto header = read("{\"__metadata__\":{\"k\":\"v\"}," + kEntry + "}", "x");
  ASSERT_TRUE(succeeds(header));
  const Header moved = *std::move(header);
  EXPECT_EQ(moved.tensors()[0].name, "a");
  EXPECT_EQ(moved.tensors()[0].shape[0], 1);
  EXPECT_EQ(moved.metadata()[0].value(), "v");
  EXPECT_EQ(moved.find("a"), moved.tensors().data());
}

TEST_F(SafetensorsHeaderTest, AFileThatGrewSinceItWasOpened) {
  const std::string bytes = safetensors_file("{" + kEntry + "}", "x");
  const auto file = InputFile::open(scratch_.write("a.safetensors", bytes));
  ASSERT_TRUE(succeeds(file));
  scratch_.write("a.safetensors", bytes + "y");
  EXPECT_TRUE(fails(Header::read(*file), ErrorCode::malformed, "changed"));
}

}  // namespace
}  // namespace dequant::format::safetensors
