// Result files of other implementations: what they say, how they can be wrong, how they are judged.
#include "conformance/cases/results.h"

#include <gtest/gtest.h>

#include "judged.h"
#include "one_case.h"
#include "support/expect_error.h"

namespace dequant::conformance {
namespace {

using testing::case_file;
using testing::case_with;
using testing::fails;
using testing::refusing;
using testing::succeeds;
using testing::verdict_is;
using testing::with;

/// What kCase expects.
constexpr std::string_view kRight =
    R"("y": {"type": "float32", "shape": [3], "bits": [3204448256, 0, 1065353216]})";

/// A file with one result for kCase, which has these members beside its name.
std::string result_file(std::string_view members) {
  return R"({"format": "dequant-results", "version": 1, "about": "mine", "results": [)"
         R"({"name": "half", )" +
         std::string(members) + "}]}";
}

std::string right_with(std::string_view from, std::string_view to) {
  return result_file(with(std::string(kRight), from, to));
}

/// The judgement on the first result by the first case.
Result<Outcome> judged(const std::string& cases, const std::string& results) {
  DEQUANT_TRY(const CaseFile file, parse_cases(cases));
  DEQUANT_TRY(const ResultFile given, parse_results(results));
  return judge_result(file.cases[0], &given.results[0]);
}

/// For EXPECT_TRUE: the text is malformed and the message has that word.
::testing::AssertionResult results_are_malformed(std::string_view text, std::string_view word) {
  return fails(parse_results(text), ErrorCode::malformed, word);
}

TEST(ParseResults, ReadsAllThatAResultSays) {
  const auto file = parse_results(result_file(kRight));
  ASSERT_TRUE(succeeds(file));
  EXPECT_EQ(file->about, "mine");
  ASSERT_EQ(file->results.size(), 1u);
  EXPECT_EQ(file->results[0].name, "half");
  const auto& y = std::get<CaseTensor>(file->results[0].what);
  EXPECT_EQ(y.type, "float32");
  EXPECT_EQ(y.shape, std::vector<int64_t>{3});
  EXPECT_EQ(y.bits, (std::vector<uint64_t>{3204448256, 0, 1065353216}));
}

TEST(ParseResults, TruncatedAtEveryByteIsAnError) {
  const std::string text = result_file(kRight);
  for (size_t n = 0; n < text.size(); ++n) {
    EXPECT_TRUE(results_are_malformed(text.substr(0, n), "ends at byte " + std::to_string(n))) << n;
  }
}

TEST(ParseResults, TheFrameMustBeThatOfResults) {
  EXPECT_TRUE(results_are_malformed(case_file(), "not a result file"));
  EXPECT_TRUE(results_are_malformed("[]", "not a result file"));
  EXPECT_TRUE(results_are_malformed(with(result_file(kRight), R"("version": 1)", R"("version": 2)"),
                                    "version"));
  EXPECT_TRUE(results_are_malformed(with(result_file(kRight), "about", "abuot"), "abuot"));
  EXPECT_TRUE(
      results_are_malformed(with(result_file(kRight), "results\": [", "cases\": ["), "cases"));
}

TEST(ParseResults, AResultIsOneOfThree) {
  EXPECT_TRUE(results_are_malformed(result_file(R"("error": true, "skipped": "no")"),
                                    "result \"half\": exactly"));
  EXPECT_TRUE(results_are_malformed(result_file(R"("y": {}, "error": true)"),
                                    "exactly one of y, error and"));
  EXPECT_TRUE(results_are_malformed(
      R"({"format": "dequant-results", "version": 1, "results": [{"name": "a"}]})",
      "belongs here, not 0"));
  EXPECT_TRUE(results_are_malformed(result_file(R"("z": 1)"), "\"z\""));
  EXPECT_TRUE(results_are_malformed(result_file(R"("error": false)"), "error: false"));
  EXPECT_TRUE(results_are_malformed(result_file(R"("error": 1)"), "error: 1"));
  EXPECT_TRUE(results_are_malformed(result_file(R"("skipped": true)"), "skipped"));
  EXPECT_TRUE(results_are_malformed(result_file(R"("y": 1)"), "y: 1 is not an object"));
  EXPECT_TRUE(
      results_are_malformed(right_with(R"("shape": [3])", R"("shape": [0.5])"), "y: shape[0]"));
  EXPECT_TRUE(results_are_malformed(
      right_with(R"("shape": [3])", R"("shape": [3], "strides": [1])"), "strides"));
}

TEST(ParseResults, NamesAreUniqueAndSafeToPrint) {
  const std::string one = R"({"name": "a\n", "error": true})";
  const std::string twice =
      R"({"format": "dequant-results", "version": 1, "results": [)" + one + "," + one + "]}";
  EXPECT_TRUE(
      results_are_malformed(twice, "results[1]: a result before it is named \"a\\x0a\" as well"));
}

TEST(ReadResults, NamesTheFile) {
  EXPECT_TRUE(fails(read_results("/nowhere/mine.json"), ErrorCode::io, "/nowhere/mine.json"));
}

TEST(JudgeResult, PassesTheExpectedBits) {
  EXPECT_TRUE(verdict_is(judged(case_file(), result_file(kRight)), Verdict::passed, ""));
}

TEST(JudgeResult, FailsAnotherBit) {
  const auto outcome = judged(case_file(), right_with("1065353216", "1065353217"));
  EXPECT_TRUE(verdict_is(outcome, Verdict::failed, "y differs in 1 of 3 elements, first at [2]"));
  EXPECT_TRUE(outcome->difference.has_value());
  EXPECT_EQ(outcome->name, "half");
}

TEST(JudgeResult, TakesEveryNanForEveryOther) {
  const std::string nan = case_with("3204448256, 0", "2143289344, 0");
  EXPECT_TRUE(verdict_is(judged(nan, right_with("3204448256", "4290772993")), Verdict::passed, ""));
  EXPECT_TRUE(verdict_is(judged(nan, right_with("3204448256", "2139095040")), Verdict::failed, ""));
  EXPECT_TRUE(verdict_is(judged(case_file(), right_with("3204448256", "2143289344")),
                         Verdict::failed, "nan"));
}

TEST(JudgeResult, AllowsTheToleranceOfTheCase) {
  const std::string off = right_with("3204448256, 0", "3204448257, 2147483648");
  const std::string ulp = case_with(R"({"name")", R"({"ulp": 1, "name")");
  EXPECT_TRUE(verdict_is(judged(case_file(), off), Verdict::failed, "2 of 3"));
  EXPECT_TRUE(verdict_is(judged(ulp, off), Verdict::failed, "1 of 3"));
  EXPECT_TRUE(verdict_is(judged(with(ulp, R"("ulp")", R"("ignore_zero_sign": true, "ulp")"), off),
                         Verdict::passed, ""));
}

TEST(JudgeResult, NamesAnotherTypeOrShapeEvenOneThatIsNone) {
  EXPECT_TRUE(verdict_is(judged(case_file(), right_with("float32", "float64")), Verdict::failed,
                         "y is float64[3] where float32[3] is expected"));
  EXPECT_TRUE(verdict_is(judged(case_file(), right_with("[3]", "[3, 1]")), Verdict::failed,
                         "y is float32[3, 1] where float32[3] is expected"));
  EXPECT_TRUE(verdict_is(judged(case_file(), right_with("float32", "\\u001b")), Verdict::failed,
                         "y is \\x1b[3]"));
}

TEST(JudgeResult, ARefusalPassesWhereItIsExpected) {
  for (const std::string_view error : {R"("error": true)", R"("error": "no such axis")"}) {
    EXPECT_TRUE(verdict_is(judged(case_file(), result_file(error)), Verdict::failed, "refused"));
    EXPECT_TRUE(
        verdict_is(judged(refusing(case_file()), result_file(error)), Verdict::passed, "refused"));
  }
  EXPECT_TRUE(verdict_is(judged(case_file(), result_file(R"("error": "no\u0007 axis")")),
                         Verdict::failed, "refused: no\\x07 axis"));
  EXPECT_TRUE(verdict_is(judged(refusing(case_file()), result_file(kRight)), Verdict::failed,
                         "not refused"));
}

TEST(JudgeResult, SkipsWhatTheImplementationSkipsAndFailsWhatItForgets) {
  EXPECT_TRUE(verdict_is(judged(case_file(), result_file(R"("skipped": "no float16")")),
                         Verdict::skipped, "no float16"));
  const auto file = parse_cases(case_file());
  ASSERT_TRUE(succeeds(file));
  EXPECT_TRUE(verdict_is(judge_result(file->cases[0], nullptr), Verdict::failed, "no result"));
}

TEST(JudgeResult, ReportsCodesThatDoNotFit) {
  EXPECT_TRUE(fails(judged(case_file(), right_with("3204448256, ", "")), ErrorCode::malformed,
                    "y: 2 codes for the 3 elements of [3]"));
  EXPECT_TRUE(fails(judged(case_file(), right_with("3204448256", "4294967296")),
                    ErrorCode::malformed, "y: bits[0]: 4294967296 is no code of float32"));
  EXPECT_TRUE(fails(judged(case_with("3204448256, ", ""), result_file(kRight)),
                    ErrorCode::malformed, "expect.y: 2 codes"));
}

}  // namespace
}  // namespace dequant::conformance
