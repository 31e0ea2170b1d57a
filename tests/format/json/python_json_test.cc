// JSON of Python's json module: words for floats that JSON does not have, read and written.
#include <gtest/gtest.h>

#include <cmath>

#include "format/json/json.h"

namespace dequant::format {
namespace {

using nlohmann::ordered_json;

double number(const std::string& text) {
  const auto document = parse_python_json("[" + text + "]");
  EXPECT_TRUE(document) << document.error().message;
  return document->at(0).get<double>();
}

TEST(PythonJson, WordsAreFloats) {
  EXPECT_TRUE(std::isnan(number("NaN")));
  EXPECT_EQ(number("Infinity"), HUGE_VAL);
  EXPECT_EQ(number(" -Infinity\n"), -HUGE_VAL);
}

TEST(PythonJson, NumbersThatLookLikeNoneAreWhatTheyAre) {
  for (const char* zero : {"0e0", "0e000000", "0E0", "0.0", "0e00"}) {
    EXPECT_EQ(number(zero), 0) << zero;
    EXPECT_FALSE(std::signbit(number(zero))) << zero;
  }
  EXPECT_EQ(number("-0e000000"), 0);
  EXPECT_TRUE(std::signbit(number("-0e000000")));
  EXPECT_EQ(number("1e-05"), 1e-05);
  EXPECT_EQ(number("10e0"), 10);
}

TEST(PythonJson, WordsInStringsAreText) {
  const auto document = parse_python_json(R"({"NaN": "\"NaN, Infinity", "\\": -Infinity})");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->at("NaN"), "\"NaN, Infinity");
  EXPECT_EQ(document->at("\\"), -HUGE_VAL);
}

TEST(PythonJson, OtherWordsAreRefusedWhereTheyAre) {
  for (const char* word : {"nan", "inf", "Inf", "+Infinity", "-NaN", "Infinity0", "NaNNaN"}) {
    const auto document = parse_python_json(std::string("{\"a\": NaN, \"b\": ") + word + "}");
    ASSERT_FALSE(document) << word;
    EXPECT_EQ(document.error().code, ErrorCode::malformed);
    EXPECT_NE(document.error().message.find("byte 1"), std::string::npos)
        << document.error().message;
  }
  for (const char* cut : {"\"", "[\"\\", "[NaN", "[\"NaN"}) EXPECT_FALSE(parse_python_json(cut));
}

TEST(PythonJson, JsonItselfHasNoSuchWords) {
  for (const char* word : {"[NaN]", "[Infinity]", "[-Infinity]"}) {
    EXPECT_FALSE(parse_json(word));
    EXPECT_FALSE(parse_ordered_json(word));
  }
}

TEST(PythonJson, WrittenTextHasTheSameDocument) {
  constexpr const char* kText =
      "{\n  \"z\": [\n    NaN,\n    Infinity,\n    -Infinity,\n    0.1\n  ],\n"
      "  \"a\": {},\n  \"b\": [],\n  \"c\": {\n    \"\xC3\xA9\\n\": null\n  },\n  \"d\": "
      "\"NaN\"\n}";
  const auto document = parse_python_json(kText);
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(python_json(*document), kText);
}

TEST(PythonJson, TextWithoutSuchFloatsIsWrittenAsTheLibraryDoes) {
  const auto document = parse_ordered_json(
      R"({"a": [1, -2, 18446744073709551615, 1e-05, 1e300, true, null, "x\u0001\"", [[], [{}]]],
          "": {"b": {"c": [{"d": 1}]}}})");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(python_json(*document), document->dump(2));
}

}  // namespace
}  // namespace dequant::format
