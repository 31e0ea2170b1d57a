// Where tensors may be in the data: without gaps, from the first byte to the last.
#include <fmt/format.h>

#include "reading.h"

namespace dequant::format::safetensors {
namespace {

class SafetensorsLayoutTest : public SafetensorsTest {
 protected:
  struct Place {
    std::string name;
    int64_t begin = 0;
    int64_t end = 0;
  };

  /// A header text of tensors of bytes in these places.
  static std::string text_of(const std::vector<Place>& places) {
    std::string text = "{";
    for (const Place& p : places) {
      if (text.size() > 1) text += ',';
      text += safetensors_entry(p.name, "U8", fmt::format("[{}]", p.end - p.begin),
                                fmt::format("[{},{}]", p.begin, p.end));
    }
    return text + "}";
  }
};

TEST_F(SafetensorsLayoutTest, TensorsInAnyOrder) {
  const auto header = read(text_of({{"b", 3, 9}, {"c", 0, 1}, {"a", 1, 3}}), "123456789");
  ASSERT_TRUE(succeeds(header));
  EXPECT_EQ(names(*header), (std::vector<std::string>{"c", "a", "b"}));
}

TEST_F(SafetensorsLayoutTest, TensorsWithoutDataBetweenOthers) {
  const auto header =
      read(text_of({{"z", 9, 9}, {"b", 3, 9}, {"y", 3, 3}, {"x", 3, 3}, {"a", 0, 3}, {"w", 0, 0}}),
           "123456789");
  ASSERT_TRUE(succeeds(header));
  EXPECT_EQ(names(*header), (std::vector<std::string>{"w", "a", "x", "y", "b", "z"}));
}

TEST_F(SafetensorsLayoutTest, ATensorWithoutDataWithinAnother) {
  EXPECT_TRUE(refuses(text_of({{"a", 0, 3}, {"b", 2, 2}}), "123",
                      "tensor \"b\": data_offsets begin at 2, but those of \"a\" end at 3"));
}

TEST_F(SafetensorsLayoutTest, FirstDataThatDoNotBeginAtZero) {
  EXPECT_TRUE(
      refuses(text_of({{"a", 1, 3}}), "123",
              "tensor \"a\": data_offsets begin at 1, but the data of the file begin at 0"));
}

TEST_F(SafetensorsLayoutTest, AHoleOfOneByte) {
  EXPECT_TRUE(refuses(text_of({{"a", 0, 3}, {"b", 4, 6}}), "123456",
                      "tensor \"b\": data_offsets begin at 4, but those of \"a\" end at 3"));
}

TEST_F(SafetensorsLayoutTest, AnOverlapOfOneByte) {
  EXPECT_TRUE(refuses(text_of({{"a", 0, 3}, {"b", 2, 6}}), "123456",
                      "tensor \"b\": data_offsets begin at 2, but those of \"a\" end at 3"));
  EXPECT_TRUE(refuses(text_of({{"a", 0, 6}, {"b", 0, 6}}), "123456",
                      "tensor \"b\": data_offsets begin at 0, but those of \"a\" end at 6"));
}

TEST_F(SafetensorsLayoutTest, BytesAfterAllData) {
  const std::string text = text_of({{"a", 0, 3}});
  const std::string message = fmt::format("byte {}: here end the data", 8 + text.size() + 3);
  EXPECT_TRUE(refuses(text, "1234", message));
  EXPECT_TRUE(refuses(text, "123PK\x05\x06", message));
  EXPECT_TRUE(refuses("{}", "%PDF-1.7", "byte 10: here end the data"));
}

TEST_F(SafetensorsLayoutTest, DataThatEndOneByteEarly) {
  EXPECT_TRUE(refuses(text_of({{"a", 0, 3}, {"b", 3, 6}}), "12345",
                      "tensor \"b\": data_offsets: [3, 6] is no range of the file's 5 bytes"));
}

TEST_F(SafetensorsLayoutTest, AHundredThousandTensorsOnOneRange) {
  std::vector<Place> places;
  for (int i = 0; i < 100'000; ++i) places.push_back({fmt::format("{:06}", i), 0, 4096});
  EXPECT_TRUE(refuses(text_of(places), std::string(4096, 'x'),
                      "tensor \"000001\": data_offsets begin at 0, but those of \"000000\" end at "
                      "4096"));
}

TEST_F(SafetensorsLayoutTest, DataAtOddAddresses) {
  std::string text = safetensors_text("F32", "[2]", "[0,8]");
  if (text.size() % 2 == 0) text += ' ';
  const auto header = read(text, "12345678");
  ASSERT_TRUE(succeeds(header));
  EXPECT_EQ(header->tensors()[0].offset, static_cast<int64_t>(8 + text.size()));
  EXPECT_EQ(header->tensors()[0].offset % 2, 1);
}

TEST_F(SafetensorsLayoutTest, ValuesThatTypesDoNotHave) {
  // Bytes of BOOL above 1, and a NaN with a payload: values are no matter of the header.
  const std::string data("\x02\xFF\x34\x12\xC0\x7F", 6);
  const std::string text = "{" + safetensors_entry("flags", "BOOL", "[2]", "[0,2]") + "," +
                           safetensors_entry("nan", "F32", "[1]", "[2,6]") + "}";
  const auto header = read(text, data);
  ASSERT_TRUE(succeeds(header));
  const auto file = InputFile::open(scratch_.path("a.safetensors"));
  ASSERT_TRUE(succeeds(file));
  for (const Tensor& tensor : header->tensors()) {
    std::string bytes(static_cast<size_t>(tensor.bytes), '\0');
    ASSERT_TRUE(succeeds(file->read(tensor.offset, std::as_writable_bytes(std::span(bytes)))));
    EXPECT_EQ(bytes, tensor.name == "nan" ? data.substr(2) : data.substr(0, 2));
  }
}

}  // namespace
}  // namespace dequant::format::safetensors
