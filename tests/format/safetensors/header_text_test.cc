// The JSON of a header: strings, numbers and what may stand between them.
#include "format/safetensors/header_text.h"

#include "reading.h"

namespace dequant::format::safetensors {
namespace {

using namespace std::string_view_literals;

class SafetensorsTextTest : public SafetensorsTest {
 protected:
  /// Metadata with one value, which is spelled so.
  static std::string value(std::string_view spelled) {
    return std::string("{\"__metadata__\":{\"k\":\"").append(spelled).append("\"}}");
  }

  /// A tensor without data, with 0 and this dimension.
  static std::string dimension(std::string_view spelled) {
    return safetensors_text("U8", std::string("[0,").append(spelled).append("]"), "[0,0]");
  }
};

TEST_F(SafetensorsTextTest, EscapesBecomeTheirCharacters) {
  const std::pair<std::string_view, std::string_view> rows[]{
      {R"(\"\\\/\b\f\n\r\t)", "\"\\/\b\f\n\r\t"},
      {R"(\u0041\u00e9\u20AC\uFFFF)", "A\xC3\xA9\xE2\x82\xAC\xEF\xBF\xBF"},
      {R"(\ud83d\ude00\uDBFF\uDFFF\ud800\udc00)",
       "\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF\xF0\x90\x80\x80"},
      {R"(a\u0000b)", "a\0b"sv},
      {"\x7f\xC2\x80\xEE\x80\x80", "\x7f\xC2\x80\xEE\x80\x80"},
      {"", ""},
  };
  for (const auto& [spelled, meant] : rows) {
    const auto header = read(value(spelled), "");
    ASSERT_TRUE(succeeds(header)) << spelled;
    ASSERT_EQ(header->metadata().size(), 1U);
    EXPECT_EQ(header->metadata()[0].key(), "k");
    EXPECT_EQ(header->metadata()[0].value(), meant);
  }
}

TEST_F(SafetensorsTextTest, BrokenEscapesAreErrors) {
  const std::pair<std::string_view, std::string_view> rows[]{
      {R"(\x41)", "escape"},
      {R"(\')", "escape"},
      {R"(\u00g0)", "hexadecimal"},
      {R"(\u12)", "hexadecimal"},
      {R"(\ud800)", "\\ud800"},
      {R"(\ud800x)", "\\ud800"},
      {R"(\ud800\n)", "\\ud800"},
      {R"(\ud800\ud800)", "\\ud800"},
      {R"(\udc00)", "\\udc00"},
      {R"(\udc00\ud800)", "\\udc00"},
      {R"(\udc00\udc00)", "\\udc00"},
      {R"(\ud83d\u0041)", "\\ud83d"},
      {R"(\ud83d\ude0)", "hexadecimal"},
  };
  for (const auto& [spelled, word] : rows) {
    EXPECT_TRUE(refuses(value(spelled), "", word)) << spelled;
    EXPECT_TRUE(refuses(value(spelled), "", "__metadata__: \"k\": byte ")) << spelled;
  }
}

TEST_F(SafetensorsTextTest, BytesThatAreNotUtf8AreErrors) {
  for (const std::string_view bytes :
       {"\x80"sv, "\xBF"sv, "\xC0\x80"sv, "\xC1\xBF"sv, "\xC3"sv, "\xC3("sv, "\xC3\xA9\xA9"sv,
        "\xE0\x9F\xBF"sv, "\xE3\x83"sv, "\xED\xA0\x80"sv, "\xED\xBF\xBF"sv, "\xF0\x8F\xBF\xBF"sv,
        "\xF0\x9F\x98"sv, "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "\xFE"sv, "\xFF"sv}) {
    EXPECT_TRUE(refuses(value(bytes), "", "UTF-8")) << bytes;
  }
  EXPECT_TRUE(refuses("{\xC3\xA9}", "", "found \"\\xc3\", expected a string"));
}

TEST_F(SafetensorsTextTest, ControlCharactersInStringsAreErrors) {
  for (int c = 0; c < 0x20; ++c) {
    const std::string spelled(1, static_cast<char>(c));
    EXPECT_TRUE(refuses(value(spelled), "", "control character")) << c;
  }
}

TEST_F(SafetensorsTextTest, NumbersArePlainDigits) {
  const std::pair<std::string_view, int64_t> rows[]{
      {"0", 0}, {"7", 7}, {"10", 10}, {"9223372036854775807", INT64_MAX}};
  for (const auto& [spelled, meant] : rows) {
    const auto header = read(dimension(spelled), "");
    ASSERT_TRUE(succeeds(header)) << spelled;
    EXPECT_EQ(header->tensors()[0].shape[1], meant);
  }
}

TEST_F(SafetensorsTextTest, NumbersInOtherFormsAreErrors) {
  const std::string digits(1'000'000, '9');
  for (const std::string_view spelled : {"-1"sv,
                                         "-0"sv,
                                         "+1"sv,
                                         "01"sv,
                                         "00"sv,
                                         "1.0"sv,
                                         "0.0"sv,
                                         ".5"sv,
                                         "1."sv,
                                         "1e2"sv,
                                         "1E2"sv,
                                         "1e-2"sv,
                                         "0x10"sv,
                                         "9223372036854775808"sv,
                                         "18446744073709551615"sv,
                                         "18446744073709551616"sv,
                                         "18446744073709551617"sv,
                                         "1000000000000000000000000000000"sv,
                                         "NaN"sv,
                                         "Infinity"sv,
                                         "null"sv,
                                         "true"sv,
                                         std::string_view(digits)}) {
    const std::string shown(spelled.substr(0, 40));
    EXPECT_TRUE(refuses(dimension(spelled), "", shown)) << shown;
    EXPECT_TRUE(refuses(dimension(spelled), "", "tensor \"a\": shape: byte ")) << shown;
  }
  EXPECT_TRUE(refuses(dimension("\"1\""), "", "found a string, expected a whole number"));
  EXPECT_TRUE(refuses(dimension("[1]"), "", "found an array, expected a whole number"));
  EXPECT_TRUE(refuses(dimension("{}"), "", "found an object, expected a whole number"));
}

TEST_F(SafetensorsTextTest, WhiteSpaceMayStandBetweenTokens) {
  const auto header = read(
      "{ \"a\"\t:\n{\r\"dtype\" : \"U8\" , \"shape\" : [ 1 , 2 ] , \"data_offsets\" : [ 0 , 2 ] } "
      ", \"__metadata__\" : { \"k\" : \"v\" } } ",
      "ab");
  ASSERT_TRUE(succeeds(header));
  EXPECT_EQ(names(*header), std::vector<std::string>{"a"});
}

TEST_F(SafetensorsTextTest, PunctuationInOtherPlacesIsAnError) {
  const std::pair<std::string_view, std::string_view> rows[]{
      {"{", "the end of the header, expected a string"},
      {"{,}", "found \",\", expected a string"},
      {"{\"__metadata__\":{},}", "found \"}\", expected a string"},
      {"{\"__metadata__\":{}", "the end of the header, expected \",\" or \"}\""},
      {"{\"__metadata__\":{}]", "found \"]\", expected \",\" or \"}\""},
      {"{\"__metadata__\"{}}", "found an object, expected \":\""},
      {"{\"__metadata__\":}", "found \"}\", expected an object"},
      {"{\"__metadata__\":{\"k\"}}", "found \"}\", expected \":\""},
      {"{\"__metadata__\":{\"k\":\"v\",}}", "found \"}\", expected a string"},
      {"{\"__metadata__\":{\"k\":\"v\" \"l\":\"w\"}}", "found a string, expected \",\" or \"}\""},
      {"{\"__metadata__\":{'k':\"v\"}}", "found \"'\", expected a string"},
      {"{\"__metadata__\":{k:\"v\"}}", "found k, expected a string"},
      {"{\"__metadata__\":{}/**/}", "found \"/\""},
      {"{\"__metadata__", "the end of the header, expected the end of a string"},
      {"{\"__metadata__\\", "the end of the header, expected the end of a string"},
      {"{\"a\":{\"shape\":[1,]}}", "found \"]\", expected a whole number"},
      {"{\"a\":{\"shape\":[,1]}}", "found \",\", expected a whole number"},
      {"{\"a\":{\"shape\":[1 2]}}", "found 2, expected \",\" or \"]\""},
      {"{\"a\":{\"shape\":[1}}", "found \"}\", expected \",\" or \"]\""},
  };
  for (const auto& [text, word] : rows) EXPECT_TRUE(refuses(text, "", word)) << text;
}

TEST_F(SafetensorsTextTest, AHeaderCutAtAnyByteIsAnError) {
  const std::string text = "{\"__metadata__\":{\"k\\u00e9\":\"v\"}," +
                           safetensors_entry("a", "U8", "[1]", "[0,1]") + "}";
  ASSERT_TRUE(succeeds(read(text, "x")));
  for (size_t n = 0; n < text.size(); ++n) {
    EXPECT_TRUE(refuses(text.substr(0, n), text.substr(n) + "x", "byte ")) << n;
  }
}

TEST_F(SafetensorsTextTest, TokensMayBeInTwoPiecesOfTheFile) {
  // Every token of the second entry crosses the end of the first piece once.
  const std::string first = safetensors_entry("a", "U8", "[1]", "[0,1]");
  const std::string second = R"("\u00e9\ud83d\ude00)"
                             "\xC3\xA9\xF0\x9F\x98\x80"
                             R"(":{"dtype":"I8","shape":[12,34],"data_offsets":[1,409]})";
  const std::string data(409, 'x');
  constexpr size_t kPiece = size_t{1} << 16;
  for (size_t before = kPiece - second.size() - 4; before < kPiece + 4; ++before) {
    const std::string space(before - first.size(), ' ');
    const auto header = read("{" + first + "," + space + second + "}", data);
    ASSERT_TRUE(succeeds(header)) << before;
    ASSERT_EQ(header->tensors().size(), 2U);
    const Tensor& tensor = header->tensors()[1];
    EXPECT_EQ(tensor.name, "\xC3\xA9\xF0\x9F\x98\x80\xC3\xA9\xF0\x9F\x98\x80");
    EXPECT_EQ(std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end()),
              (std::vector<int64_t>{12, 34}));
  }
}

}  // namespace
}  // namespace dequant::format::safetensors
