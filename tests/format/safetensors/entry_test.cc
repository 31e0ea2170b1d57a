// The entry of one tensor: its fields, its type, and a shape and offsets that agree.
#include "format/safetensors/entry.h"

#include <fmt/format.h>

#include "reading.h"

namespace dequant::format::safetensors {
namespace {

class SafetensorsEntryTest : public SafetensorsTest {
 protected:
  /// Refuses an entry of a file with 8 bytes of data; the message names the tensor.
  ::testing::AssertionResult refuses_entry(std::string_view dtype, std::string_view shape,
                                           std::string_view offsets, std::string_view word,
                                           ErrorCode code = ErrorCode::malformed) {
    const std::string text = safetensors_text(dtype, shape, offsets);
    if (auto named = refuses(text, "12345678", "tensor \"a\": ", code); !named) return named;
    return refuses(text, "12345678", word, code);
  }
};

TEST_F(SafetensorsEntryTest, FieldsInAnyOrder) {
  for (const std::string_view entry : {R"("shape":[1],"dtype":"U8","data_offsets":[0,1])",
                                       R"("data_offsets":[0,1],"shape":[1],"dtype":"U8")",
                                       R"("d\u0074ype":"U8","data_offsets":[0,1],"shape":[1])"}) {
    EXPECT_TRUE(succeeds(read("{\"a\":{" + std::string(entry) + "}}", "x"))) << entry;
  }
}

TEST_F(SafetensorsEntryTest, MissingFields) {
  const std::pair<std::string_view, std::string_view> rows[]{
      {R"({})", "no field \"dtype\""},
      {R"({"shape":[1],"data_offsets":[0,1]})", "no field \"dtype\""},
      {R"({"dtype":"U8","data_offsets":[0,1]})", "no field \"shape\""},
      {R"({"dtype":"U8","shape":[1]})", "no field \"data_offsets\""},
  };
  for (const auto& [entry, word] : rows) {
    EXPECT_TRUE(refuses("{\"a\":" + std::string(entry) + "}", "x", word)) << entry;
  }
}

TEST_F(SafetensorsEntryTest, UnknownFields) {
  const std::string entry = R"("dtype":"U8","shape":[1],"data_offsets":[0,1])";
  for (const std::string_view field :
       {R"("x":1)", R"("strides":[1])", R"("Dtype":"U8")", R"("":null)", R"("x":[[[{}]]])"}) {
    for (const std::string& text : {"{\"a\":{" + entry + "," + std::string(field) + "}}",
                                    "{\"a\":{" + std::string(field) + "," + entry + "}}"}) {
      EXPECT_TRUE(refuses(text, "x", "is not one of dtype, shape, data_offsets")) << text;
    }
  }
}

TEST_F(SafetensorsEntryTest, TheSameFieldTwice) {
  const std::string entry = R"("dtype":"U8","shape":[1],"data_offsets":[0,1])";
  for (const auto& [field, word] : {std::pair{R"("dtype":"U8")", "\"dtype\" occurs twice"},
                                    {R"("sh\u0061pe":[1])", "\"shape\" occurs twice"},
                                    {R"("data_offsets":[0,1])", "\"data_offsets\" occurs twice"}}) {
    EXPECT_TRUE(refuses("{\"a\":{" + entry + "," + field + "}}", "x", word)) << field;
  }
}

TEST_F(SafetensorsEntryTest, EntriesThatAreNoObjects) {
  for (const std::string_view value : {"null", "1", "\"U8\"", R"(["U8",[1],[0,1]])", "true", "-"}) {
    EXPECT_TRUE(refuses("{\"a\":" + std::string(value) + "}", "x", "tensor \"a\": byte 13: found"))
        << value;
  }
}

TEST_F(SafetensorsEntryTest, UnknownTypes) {
  for (const std::string_view dtype :
       {"F128", "f32", "", "U8 ", "I4", "float32", "F8_E4M3FN", "\\u0000"}) {
    EXPECT_TRUE(
        refuses_entry(dtype, "[8]", "[0,8]", "is not one of BOOL, F4", ErrorCode::unsupported))
        << dtype;
  }
}

TEST_F(SafetensorsEntryTest, FieldsOfOtherKinds) {
  const std::pair<std::string_view, std::string_view> rows[]{
      {R"("dtype":8)", "dtype: byte 22: found 8, expected a string"},
      {R"("dtype":null)", "dtype: byte 22: found null, expected a string"},
      {R"("dtype":{"U8":null})", "dtype: byte 22: found an object, expected a string"},
      {R"("shape":8)", "shape: byte 22: found 8, expected an array"},
      {R"("shape":{})", "shape: byte 22: found an object, expected an array"},
      {R"("shape":"[8]")", "shape: byte 22: found a string, expected an array"},
      {R"("data_offsets":8)", "data_offsets: byte 29: found 8, expected an array"},
      {R"("data_offsets":null)", "data_offsets: byte 29: found null, expected an array"},
  };
  for (const auto& [field, word] : rows) {
    EXPECT_TRUE(refuses("{\"a\":{" + std::string(field) + "}}", "x", word)) << field;
  }
}

TEST_F(SafetensorsEntryTest, EveryTypeWithItsBytes) {
  for (const DType& dtype : dtypes()) {
    const int bytes = 2 * dtype.bits;  // of 16 values
    const auto header = read(safetensors_text(dtype.name, "[2,8]", fmt::format("[0,{}]", bytes)),
                             std::string(static_cast<size_t>(bytes), 'x'));
    ASSERT_TRUE(succeeds(header)) << dtype.name;
    EXPECT_EQ(header->tensors()[0].dtype, &dtype);
    EXPECT_EQ(header->tensors()[0].bytes, bytes);
    EXPECT_TRUE(refuses(safetensors_text(dtype.name, "[2,8]", fmt::format("[0,{}]", bytes - 1)),
                        std::string(static_cast<size_t>(bytes - 1), 'x'),
                        fmt::format("type {} ask for {}", dtype.name, bytes)));
  }
}

TEST_F(SafetensorsEntryTest, TypesOfFewBitsThatEndWithinAByte) {
  EXPECT_TRUE(refuses_entry("F4", "[3,5]", "[0,8]", "15 values of 4 bits end within a byte"));
  EXPECT_TRUE(refuses_entry("F4", "[]", "[0,1]", "1 values of 4 bits end within a byte"));
  EXPECT_TRUE(refuses_entry("F6_E2M3", "[10]", "[0,8]", "10 values of 6 bits end within a byte"));
  EXPECT_TRUE(refuses_entry("F6_E3M2", "[2]", "[0,2]", "2 values of 6 bits end within a byte"));
  EXPECT_TRUE(succeeds(read(safetensors_text("F6_E3M2", "[3,4]", "[0,9]"), "123456789")));
  EXPECT_TRUE(succeeds(read(safetensors_text("F4", "[0,3]", "[0,0]"), "")));
}

TEST_F(SafetensorsEntryTest, ShapesThatOverflow) {
  for (const std::string_view shape :
       {"[4194305,4194305,211106198978564]", "[4611686018427387904,2]", "[4611686018427387904,2,0]",
        "[0,4611686018427387904,2]", "[1099511627776,1099511627776,0]",
        "[0,1099511627776,1099511627776]", "[9223372036854775807,9223372036854775807]"}) {
    EXPECT_TRUE(refuses_entry("U8", shape, "[0,4]", "has more than 2^63 - 1 elements")) << shape;
  }
  // Elements that can be counted, in bytes that cannot.
  EXPECT_TRUE(refuses_entry("F64", "[9223372036854775807]", "[0,8]", "more than 2^63 - 1 bytes"));
  EXPECT_TRUE(refuses_entry("U16", "[4611686018427387904]", "[0,0]", "more than 2^63 - 1 bytes"));
  EXPECT_TRUE(refuses_entry("U8", "[9223372036854775807]", "[0,8]", "ask for 9223372036854775807"));
  EXPECT_TRUE(refuses_entry("F4", "[9223372036854775806]", "[0,8]", "ask for 4611686018427387903"));
}

TEST_F(SafetensorsEntryTest, OffsetsThatAreNoPairOfNumbers) {
  EXPECT_TRUE(refuses_entry("U8", "[8]", "[]", "data_offsets: [] is not a pair"));
  EXPECT_TRUE(refuses_entry("U8", "[8]", "[8]", "data_offsets: [8] is not a pair"));
  EXPECT_TRUE(refuses_entry("U8", "[8]", "[0,8,8]", "data_offsets: more than 2 numbers"));
  EXPECT_TRUE(refuses_entry("U8", "[8]", "[0,-8]", "data_offsets: byte"));
  EXPECT_TRUE(refuses_entry("U8", "[8]", "[0,18446744073709551615]", "18446744073709551615"));
}

TEST_F(SafetensorsEntryTest, OffsetsThatAreNoRangeOfTheData) {
  EXPECT_TRUE(refuses_entry("U8", "[8]", "[8,0]", "[8, 0] is no range of the file's 8 bytes"));
  EXPECT_TRUE(refuses_entry("U8", "[9]", "[0,9]", "[0, 9] is no range of the file's 8 bytes"));
  EXPECT_TRUE(refuses_entry("U8", "[1]", "[9223372036854775806,9223372036854775807]",
                            "no range of the file's 8 bytes"));
}

TEST_F(SafetensorsEntryTest, OffsetsOfAnotherNumberOfBytesThanTheShape) {
  EXPECT_TRUE(
      refuses_entry("U8", "[7]", "[0,8]",
                    "data_offsets: [0, 8] are 8 bytes where shape [7] and type U8 ask for 7"));
  EXPECT_TRUE(refuses_entry("U8", "[9]", "[0,8]", "are 8 bytes where shape [9]"));
  EXPECT_TRUE(refuses_entry("U8", "[2,4]", "[0,0]", "are 0 bytes where shape [2, 4]"));
  EXPECT_TRUE(refuses_entry("U8", "[0]", "[0,8]", "are 8 bytes where shape [0]"));
  EXPECT_TRUE(refuses_entry("F32", "[8]", "[0,8]", "ask for 32"));
}

TEST_F(SafetensorsEntryTest, ScalarsAndTensorsWithoutElements) {
  const auto scalar = read(safetensors_text("F32", "[]", "[0,4]"), "1234");
  ASSERT_TRUE(succeeds(scalar));
  EXPECT_TRUE(scalar->tensors()[0].shape.empty());
  EXPECT_EQ(scalar->tensors()[0].bytes, 4);
  const auto empty = read(safetensors_text("F32", "[3,0,9223372036854775807]", "[0,0]"), "");
  EXPECT_TRUE(fails(empty, ErrorCode::malformed, "elements"));
  EXPECT_TRUE(succeeds(read(safetensors_text("F32", "[0,9223372036854775807]", "[0,0]"), "")));
}

TEST_F(SafetensorsEntryTest, ShapesOfManyDimensions) {
  std::string ones = "1";
  for (int i = 1; i < 64; ++i) ones += ",1";
  EXPECT_TRUE(succeeds(read(safetensors_text("U8", "[" + ones + "]", "[0,1]"), "x")));
  EXPECT_TRUE(refuses_entry("U8", "[" + ones + ",1]", "[0,8]", "shape: more than 64 numbers",
                            ErrorCode::limit));
}

}  // namespace
}  // namespace dequant::format::safetensors
