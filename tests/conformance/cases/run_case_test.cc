// Running cases: what passes, what fails, what is refused, and what is wrong with the case itself.
#include "conformance/cases/run_case.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "format/io/file.h"
#include "judged.h"
#include "one_case.h"
#include "support/expect_error.h"

namespace dequant::conformance {

using format::read_small_file;

namespace {

using testing::case_file;
using testing::case_with;
using testing::fails;
using testing::refusing;
using testing::run_first;
using testing::succeeds;
using testing::verdict_is;
using testing::with;

TEST(RunCase, PassesWhenAllBitsAreAsExpected) {
  const auto outcome = run_first(case_file());
  EXPECT_TRUE(verdict_is(outcome, Verdict::passed, ""));
  EXPECT_EQ(outcome->name, "half");
}

TEST(RunCase, RunsTheMicrosoftDialect) {
  const std::string text = case_with(R"("onnx", "version": 13)", R"("microsoft", "version": 1)");
  EXPECT_TRUE(verdict_is(run_first(text), Verdict::passed, ""));
}

TEST(RunCase, FailsWhenABitDiffers) {
  const auto outcome = run_first(case_with("3204448256, 0", "3204448256, 1"));
  EXPECT_TRUE(verdict_is(outcome, Verdict::failed, "first at [1]: 0 (0x00000000) where"));
  ASSERT_TRUE(outcome->difference.has_value());
}

TEST(RunCase, AllowsTheToleranceOfTheCase) {
  const std::string off = case_with("3204448256, 0", "3204448257, 2147483648");
  EXPECT_TRUE(verdict_is(run_first(off), Verdict::failed, "2 of 3"));
  EXPECT_TRUE(verdict_is(run_first(with(off, R"({"name")", R"({"ulp": 1, "name")")),
                         Verdict::failed, "1 of 3"));
  EXPECT_TRUE(verdict_is(
      run_first(with(off, R"({"name")", R"({"ulp": 1, "ignore_zero_sign": true, "name")")),
      Verdict::passed, ""));
}

TEST(RunCase, FailsOnAnotherTypeOrShapeOfY) {
  EXPECT_TRUE(verdict_is(run_first(case_with(R"({"y": {"type": "float32", "shape": [3])",
                                             R"({"y": {"type": "float32", "shape": [3, 1])")),
                         Verdict::failed, "float32[3, 1] is expected"));
}

TEST(RunCase, ARefusedNodeFailsUnlessItShouldBe) {
  const std::string text = case_with(R"("version": 13)", R"("version": 10)");
  EXPECT_TRUE(verdict_is(run_first(text), Verdict::failed, "refused: axis"));
  EXPECT_TRUE(verdict_is(run_first(refusing(text)), Verdict::passed, "refused: axis"));
  EXPECT_TRUE(verdict_is(run_first(refusing(case_file())), Verdict::failed, "not refused"));
}

TEST(RunCase, UnknownAttributesAreRefusedWhateverTheirValue) {
  for (const std::string_view value : {"1", "\"text\"", "true", "0.5"}) {
    const std::string text = case_with(R"("axis": 0)", R"("mode": )" + std::string(value));
    EXPECT_TRUE(verdict_is(run_first(refusing(text)), Verdict::passed, "mode")) << value;
  }
}

TEST(RunCase, OutputTypesGoByTheirNames) {
  std::string text = case_with(R"("version": 13, "attributes": {"axis": 0})",
                               R"("version": 23, "attributes": {"output_dtype": "float16"})");
  text =
      with(text, R"({"y": {"type": "float32", "shape": [3], "bits": [3204448256, 0, 1065353216]})",
           R"({"y": {"type": "float16", "shape": [3], "bits": [47104, 0, 15360]})");
  EXPECT_TRUE(verdict_is(run_first(text), Verdict::passed, ""));
  EXPECT_TRUE(verdict_is(run_first(refusing(with(text, "\"output_dtype\": \"float16\"",
                                                 "\"output_dtype\": \"int8\""))),
                         Verdict::passed, "output_dtype"));
  for (const std::string_view value : {"\"half\"", "10", "\"quint8\""}) {
    EXPECT_TRUE(fails(run_first(with(text, "\"output_dtype\": \"float16\"",
                                     "\"output_dtype\": " + std::string(value))),
                      ErrorCode::malformed, "output_dtype"))
        << value;
  }
}

TEST(RunCase, PacksElementsUnder8Bits) {
  std::string text = case_with(R"("version": 13)", R"("version": 21)");
  text = with(text, R"({"type": "int8", "shape": [3], "bits": [255, 0, 2]})",
              R"({"type": "int4", "shape": [3], "bits": [15, 0, 2]})");
  EXPECT_TRUE(verdict_is(run_first(text), Verdict::passed, ""));
  EXPECT_TRUE(fails(run_first(with(text, "[15, 0, 2]", "[16, 0, 2]")), ErrorCode::malformed,
                    "x: bits[0]: 16"));
}

TEST(RunCase, CodesThatDoNotFitAreMalformed) {
  EXPECT_TRUE(fails(run_first(case_with("[255, 0, 2]", "[255, 0, 256]")), ErrorCode::malformed,
                    "x: bits[2]: 256"));
  EXPECT_TRUE(fails(run_first(case_with("[1056964608]", "[4294967296]")), ErrorCode::malformed,
                    "scale: bits[0]"));
  EXPECT_TRUE(fails(run_first(case_with("1065353216]", "4294967296]")), ErrorCode::malformed,
                    "expect.y: bits[2]"));
}

TEST(RunCase, CodesMustBeAsManyAsTheShapeSays) {
  EXPECT_TRUE(fails(run_first(case_with("[255, 0, 2]", "[255, 0]")), ErrorCode::malformed,
                    "x: 2 codes for the 3"));
  EXPECT_TRUE(
      fails(run_first(case_with("[1056964608]", "[]")), ErrorCode::malformed, "scale: 0 codes"));
  EXPECT_TRUE(
      fails(run_first(case_with(R"("int8", "shape": [3])", R"("int8", "shape": [1099511627776])")),
            ErrorCode::malformed, "x: 3 codes"));
  EXPECT_TRUE(fails(run_first(case_with(R"({"y": {"type": "float32", "shape": [3])",
                                        R"({"y": {"type": "float32", "shape": [-3])")),
                    ErrorCode::malformed, "expect.y"));
}

TEST(RunCase, ANodeIsRefusedBeforeItsCodesAreLookedAt) {
  // An exponent scale needs output_dtype; this one's code does not even fit.
  const std::string text =
      case_file(R"({"name": "e8m0", "dialect": "onnx", "version": 24, "attributes": {},)"
                R"( "inputs": {"x": {"type": "float4e2m1", "shape": [4], "bits": [0, 0, 0, 0]},)"
                R"( "scale": {"type": "float8e8m0", "shape": [], "bits": [15360]}},)"
                R"( "expect": {"error": true}})");
  EXPECT_TRUE(verdict_is(run_first(text), Verdict::passed, "refused: output_dtype"));
  EXPECT_TRUE(fails(
      run_first(with(text, R"("attributes": {})", R"("attributes": {"output_dtype": "float32"})")),
      ErrorCode::malformed, "scale: bits[0]: 15360 is no code of float8e8m0"));
}

TEST(RunCase, ARefusalAtRunTimeCountsToo) {
  const std::string text =
      case_file(R"({"name": "zero", "dialect": "onnx", "version": 23, "attributes": {},)"
                R"( "inputs": {"x": {"type": "float4e2m1", "shape": [3], "bits": [0, 0, 0]},)"
                R"( "scale": {"type": "float32", "shape": [], "bits": [1065353216]},)"
                R"( "zero_point": {"type": "float4e2m1", "shape": [], "bits": [2]}},)"
                R"( "expect": {"error": true}})");
  EXPECT_TRUE(verdict_is(run_first(text), Verdict::passed, "refused: zero_point"));
}

TEST(RunCase, InputsAreThoseOfTheDialect) {
  EXPECT_TRUE(fails(run_first(case_with(R"("scale": {)", R"("x_scale": {)")), ErrorCode::malformed,
                    "x_scale"));
  EXPECT_TRUE(fails(run_first(case_with(R"("scale": {)", R"("zero_point": {)")),
                    ErrorCode::malformed, "no scale"));
  EXPECT_TRUE(fails(run_first(case_with("int8", "qint8")), ErrorCode::malformed, "qint8"));
  EXPECT_TRUE(fails(run_first(case_with("int8", "int64")), ErrorCode::malformed, "int64"));
}

TEST(RunCase, AttributesAndVersionsAreNumbers) {
  EXPECT_TRUE(
      fails(run_first(case_with(R"("axis": 0)", R"("axis": "0")")), ErrorCode::malformed, "axis"));
  EXPECT_TRUE(
      fails(run_first(case_with(R"("axis": 0)", R"("axis": true)")), ErrorCode::malformed, "axis"));
  EXPECT_TRUE(fails(run_first(case_with(R"("version": 13)", R"("version": "1_0")")),
                    ErrorCode::malformed, "1_0"));
  EXPECT_TRUE(verdict_is(run_first(case_with(R"("version": 13)", R"("version": "13")")),
                         Verdict::passed, ""));
}

TEST(RunCase, AnUnknownVersionIsNoRefusalOfTheNode) {
  const auto error_expected = [](const std::string& dialect, const std::string& version) {
    return R"({"format": "dequant-cases", "version": 1, "cases": [{"name": "valid", "dialect": ")" +
           dialect + R"(", "version": )" + version +
           R"(, "attributes": {"axis": 0}, "inputs": {
             "x": {"type": "int8", "shape": [3], "bits": [255, 0, 2]},
             "scale": {"type": "float32", "shape": [3], "bits": [1, 1, 1]}},
             "expect": {"error": true}}]})";
  };
  for (const char* version : {"9", "29", "-1", "\"28.0\"", "\"99999999999999999999\""}) {
    EXPECT_TRUE(
        fails(run_first(error_expected("onnx", version)), ErrorCode::malformed, "onnx has 10 to"))
        << version;
  }
  for (const char* version : {"0", "2", "99", "\"one\""}) {
    EXPECT_TRUE(fails(run_first(error_expected("microsoft", version)), ErrorCode::malformed,
                      "microsoft has only 1"))
        << version;
  }
  EXPECT_TRUE(
      verdict_is(run_first(error_expected("microsoft", "1")), Verdict::failed, "not refused"));
}

TEST(RunCase, TheExampleOfTheManualRuns) {
  const auto path = std::filesystem::path(DEQUANT_DOCS_FOLDER) / "cases.md";
  const std::string manual = read_small_file(path.string(), 1 << 20).value();
  const size_t begin = manual.find("```json\n") + 8;
  const std::string example = manual.substr(begin, manual.find("```", begin) - begin);
  const auto file = parse_cases(example);
  ASSERT_TRUE(succeeds(file));
  for (const Case& c : file->cases) {
    const auto outcome = run_case(c);
    EXPECT_TRUE(verdict_is(outcome, Verdict::passed, "")) << c.name;
    EXPECT_NE(manual.find("passed half.json: " + c.name +
                          (outcome->reason.empty() ? "\n" : ": " + outcome->reason + "\n")),
              std::string::npos)
        << outcome->reason;
  }
  const auto wrong = run_first(with(example, "1065353216", "1065353217"));
  EXPECT_TRUE(verdict_is(wrong, Verdict::failed, "y differs"));
  EXPECT_NE(manual.find("failed wrong.json: half: " + wrong->reason + "\n"), std::string::npos);
}

}  // namespace
}  // namespace dequant::conformance
