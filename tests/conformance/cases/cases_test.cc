// Case files: what they say, and every way in which they can be wrong.
#include "conformance/cases/cases.h"

#include <gtest/gtest.h>

#include "one_case.h"
#include "support/expect_error.h"

namespace dequant::conformance {
namespace {

using testing::case_file;
using testing::case_with;
using testing::fails;
using testing::kCase;
using testing::succeeds;
using testing::with;

/// For EXPECT_TRUE: the text is malformed and the message has that word.
::testing::AssertionResult malformed(std::string_view text, std::string_view word) {
  return fails(parse_cases(text), ErrorCode::malformed, word);
}

TEST(ParseCases, ReadsAllThatACaseSays) {
  const auto file = parse_cases(case_file());
  ASSERT_TRUE(succeeds(file));
  EXPECT_EQ(file->about, "a test");
  ASSERT_EQ(file->cases.size(), 1u);
  const Case& c = file->cases[0];
  EXPECT_EQ(c.name, "half");
  EXPECT_EQ(c.dialect, "onnx");
  EXPECT_EQ(c.version, "13");
  EXPECT_EQ(std::get<int64_t>(c.attributes.at("axis")), 0);
  EXPECT_EQ(c.inputs.at("x").type, "int8");
  EXPECT_EQ(c.inputs.at("x").shape, std::vector<int64_t>{3});
  EXPECT_EQ(c.inputs.at("x").bits, (std::vector<uint64_t>{255, 0, 2}));
  EXPECT_TRUE(c.inputs.at("scale").shape.empty());
  ASSERT_TRUE(c.expect.has_value());
  EXPECT_EQ(c.expect->bits.size(), 3u);
  EXPECT_EQ(c.ulp, 0);
  EXPECT_FALSE(c.ignore_zero_sign);
}

TEST(ParseCases, ReadsWhatOtherDialectsNeed) {
  std::string text =
      case_with(R"("dialect": "onnx", "version": 13, "attributes": {"axis": 0})",
                R"("dialect": "directml", "version": "6_4", "operator": "DEQUANTIZE",)"
                R"( "ulp": 2, "ignore_zero_sign": true, "attributes": )"
                R"({"a": "s", "b": true, "c": 0.5, "d": -9223372036854775808})");
  text = with(text, R"("shape": [3], "bits")", R"("shape": [3], "strides": [-1], "bits")");
  const auto file = parse_cases(text);
  ASSERT_TRUE(succeeds(file));
  const Case& c = file->cases[0];
  EXPECT_EQ(c.version, "6_4");
  EXPECT_EQ(c.operator_name, "DEQUANTIZE");
  EXPECT_EQ(c.ulp, 2);
  EXPECT_TRUE(c.ignore_zero_sign);
  EXPECT_EQ(std::get<std::string>(c.attributes.at("a")), "s");
  EXPECT_EQ(std::get<bool>(c.attributes.at("b")), true);
  EXPECT_EQ(std::get<double>(c.attributes.at("c")), 0.5);
  EXPECT_EQ(std::get<int64_t>(c.attributes.at("d")), INT64_MIN);
  EXPECT_EQ(c.inputs.at("x").strides, std::vector<int64_t>{-1});
}

TEST(ParseCases, ARefusalExpectsNoTensor) {
  const size_t at = kCase.find(R"("expect")");
  const auto file =
      parse_cases(case_file(std::string(kCase.substr(0, at)) + R"("expect": {"error": true}})"));
  ASSERT_TRUE(succeeds(file));
  EXPECT_FALSE(file->cases[0].expect.has_value());
}

TEST(ParseCases, ARefusalMayNameItsRule) {
  const std::string start(kCase.substr(0, kCase.find(R"("expect")")));
  const auto refused = [&](std::string_view rule) {
    return case_file(start + R"("rule": )" + std::string(rule) + R"(, "expect": {"error": true}})");
  };
  const auto file = parse_cases(refused(R"("axis")"));
  ASSERT_TRUE(succeeds(file));
  EXPECT_EQ(file->cases[0].rule, "axis");
  EXPECT_TRUE(malformed(refused(R"("")"), "rule: it is empty"));
  EXPECT_TRUE(malformed(refused("1"), "rule"));
  EXPECT_TRUE(malformed(case_with(R"({"name")", R"({"rule": "axis", "name")"),
                        "rule: only a case that expects an error has one"));
}

TEST(ParseCases, TruncatedAtEveryByteIsAnError) {
  const std::string text = case_file();
  for (size_t n = 0; n < text.size(); ++n) {
    EXPECT_TRUE(malformed(text.substr(0, n), "ends at byte " + std::to_string(n))) << n;
  }
}

TEST(ParseCases, WhatIsNotJsonIsAnErrorAtItsByte) {
  EXPECT_TRUE(malformed("[1, x]", "byte 4"));
  EXPECT_TRUE(malformed("{}{}", "byte 2"));
  EXPECT_TRUE(malformed("[1e999]", "byte"));
  EXPECT_TRUE(malformed("\"\xFF\"", "byte"));
  EXPECT_TRUE(malformed("[NaN]", "byte"));
  EXPECT_TRUE(malformed("{\"a\": 1,}", "byte"));
}

TEST(ParseCases, NestingHasALimit) {
  EXPECT_TRUE(malformed(std::string(1'000'000, '['), "deeper than 32"));
  std::string objects;
  for (int i = 0; i < 40; ++i) objects += "{\"a\":";
  EXPECT_TRUE(malformed(objects, "deeper than 32"));
}

TEST(ParseCases, AKeyMayNotOccurTwice) {
  EXPECT_TRUE(
      malformed(case_with(R"({"name")", R"({"ulp": 1, "ulp": 0, "name")"), "\"ulp\" occurs twice"));
  EXPECT_TRUE(
      malformed(case_with(R"({"axis": 0})", R"({"axis": 0, "axis": 1})"), "\"axis\" occurs twice"));
}

TEST(ParseCases, TheFrameMustBeOurs) {
  EXPECT_TRUE(malformed("{}", "not a case file"));
  EXPECT_TRUE(malformed("[]", "not a case file"));
  EXPECT_TRUE(malformed("3", "not a case file"));
  EXPECT_TRUE(malformed(case_with("dequant-cases", "cases"), "not a case file"));
  EXPECT_TRUE(malformed(case_with(R"("version": 1,)", R"("version": 2,)"), "version: 2"));
  EXPECT_TRUE(malformed(case_with(R"("version": 1,)", R"("version": "1",)"), "version: \"1\""));
  EXPECT_TRUE(malformed(case_with(R"("version": 1,)", R"("version": 1.0,)"), "version: 1.0"));
  EXPECT_TRUE(malformed(case_with(R"("version": 1,)", ""), "version"));
  EXPECT_TRUE(malformed(case_with("about", "abuot"), "abuot"));
  EXPECT_TRUE(malformed(case_with(R"("a test")", "5"), "about"));
  EXPECT_TRUE(malformed(R"({"format": "dequant-cases", "version": 1})", "cases"));
  EXPECT_TRUE(malformed(R"({"format": "dequant-cases", "version": 1, "cases": {}})", "cases"));
}

TEST(ParseCases, UnknownKeysAreErrorsAtEveryLevel) {
  EXPECT_TRUE(malformed(case_with(R"({"name")", R"({"upl": 1, "name")"), "\"upl\""));
  EXPECT_TRUE(
      malformed(case_with(R"({"type": "int8")", R"({"dtype": "u", "type": "int8")"), "\"dtype\""));
  EXPECT_TRUE(malformed(case_with(R"({"y": )", R"({"z": 1, "y": )"), "\"z\""));
}

TEST(ParseCases, WhatMustBeThereIsMissed) {
  EXPECT_TRUE(malformed(case_file("{}"), "cases[0]: there is no \"name\""));
  EXPECT_TRUE(malformed(case_file("3"), "cases[0]: 3 is not an object"));
  EXPECT_TRUE(malformed(case_with(R"("dialect": "onnx",)", ""), "dialect"));
  EXPECT_TRUE(
      malformed(case_with(R"("version": 13,)", ""), "case \"half\": there is no \"version\""));
  EXPECT_TRUE(malformed(case_with(R"("inputs")", R"("ulp": 0, "outputs")"), "outputs"));
  EXPECT_TRUE(malformed(case_with(R"("type": "int8", )", ""), "inputs.x: there is no \"type\""));
  EXPECT_TRUE(malformed(case_with(R"("shape": [3], )", ""), "inputs.x: there is no \"shape\""));
  EXPECT_TRUE(
      malformed(case_with(R"(, "bits": [255, 0, 2])", ""), "inputs.x: there is no \"bits\""));
}

TEST(ParseCases, ValuesMustHaveTheirType) {
  EXPECT_TRUE(malformed(case_with(R"("half")", "1"), "name"));
  EXPECT_TRUE(malformed(case_with(R"("onnx")", "1"), "dialect"));
  EXPECT_TRUE(malformed(case_with(R"("onnx")", R"("ONNX")"), "dialect"));
  EXPECT_TRUE(malformed(case_with("13", "13.5"), "13.5"));
  EXPECT_TRUE(malformed(case_with("13", "null"), "null"));
  EXPECT_TRUE(malformed(case_with(R"({"axis": 0})", "[]"), "attributes"));
  EXPECT_TRUE(malformed(case_with(R"({"axis": 0})", R"({"axis": [0.5]})"), "attributes.axis"));
  EXPECT_TRUE(malformed(case_with(R"({"axis": 0})", R"({"axis": 9223372036854775808})"),
                        "attributes.axis"));
  EXPECT_TRUE(malformed(case_with("[255, 0, 2]", "[255, -1, 2]"), "inputs.x: bits[1]: -1"));
  EXPECT_TRUE(malformed(case_with("[255, 0, 2]", "[255, 1.0, 2]"), "inputs.x: bits[1]: 1.0"));
  EXPECT_TRUE(malformed(case_with("[255, 0, 2]", "[255, 0, 18446744073709551616]"), "bits[2]"));
  EXPECT_TRUE(malformed(case_with("[255, 0, 2]", "[true]"), "bits[0]: true"));
  EXPECT_TRUE(malformed(case_with("[255, 0, 2]", "\"AAA=\""), "bits"));
  EXPECT_TRUE(malformed(case_with(R"("shape": [3])", R"("shape": [3.0])"), "shape[0]"));
  EXPECT_TRUE(malformed(case_with(R"("shape": [3])", R"("shape": 3)"), "shape"));
  EXPECT_TRUE(malformed(case_with(R"("type": "int8")", R"("type": 8)"), "type"));
  EXPECT_TRUE(malformed(case_with(R"({"name")", R"({"ulp": -1, "name")"), "ulp"));
  EXPECT_TRUE(malformed(case_with(R"({"name")", R"({"ulp": 0.5, "name")"), "ulp"));
  EXPECT_TRUE(
      malformed(case_with(R"({"name")", R"({"ignore_zero_sign": 1, "name")"), "ignore_zero_sign"));
}

TEST(ParseCases, ExpectIsEitherATensorOrAnError) {
  EXPECT_TRUE(malformed(case_with(R"({"y": )", R"({"error": true, "y": )"), "expect"));
  const std::string start(kCase.substr(0, kCase.find(R"("expect")")));
  for (const std::string_view end :
       {R"("expect": {}})", R"("expect": {"error": false}})", R"("expect": {"error": "no"}})",
        R"("expect": true})", R"("expect": {"y": 1}})", R"("ulp": 0})"}) {
    EXPECT_TRUE(malformed(case_file(start + std::string(end)), "expect")) << end;
  }
}

TEST(ParseCases, WhatOneDialectHasIsAnErrorInAnother) {
  EXPECT_TRUE(
      malformed(case_with(R"({"name")", R"({"operator": "DEQUANTIZE", "name")"), "operator"));
  EXPECT_TRUE(malformed(case_with("onnx", "directml"), "operator"));
  EXPECT_TRUE(
      malformed(case_with(R"("bits": [255)", R"("strides": [1], "bits": [255)"), "strides"));
  EXPECT_TRUE(
      malformed(case_with(R"("bits": [3204)", R"("strides": [1], "bits": [3204)"), "strides"));
}

TEST(ParseCases, NamesAreUnique) {
  const std::string other = with(std::string(kCase), "half", "other");
  EXPECT_TRUE(succeeds(parse_cases(case_file(std::string(kCase) + "," + other))));
  EXPECT_TRUE(
      malformed(case_file(std::string(kCase) + "," + std::string(kCase)), "\"half\" as well"));
}

TEST(ParseCases, NamesInMessagesAreSafeToPrint) {
  EXPECT_TRUE(
      malformed(case_with(R"("half", "dialect": "onnx")", R"("a\u001b[31m\n", "dialect": "x")"),
                "a\\x1b[31m\\x0a"));
}

TEST(ReadCases, NamesTheFile) {
  EXPECT_TRUE(fails(read_cases("/nowhere/cases.json"), ErrorCode::io, "/nowhere/cases.json"));
}

}  // namespace
}  // namespace dequant::conformance
