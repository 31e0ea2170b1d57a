// Running the first case of a file, and expecting a verdict with a word of its reason.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "conformance/cases/run_case.h"

namespace dequant::testing {

inline Result<conformance::Outcome> run_first(const std::string& text) {
  DEQUANT_TRY(const conformance::CaseFile file, conformance::parse_cases(text));
  return conformance::run_case(file.cases[0]);
}

/// The file with its only case's expectation replaced by a refusal.
inline std::string refusing(const std::string& text) {
  return text.substr(0, text.find(R"("expect")")) + R"("expect": {"error": true}}]})";
}

/// For EXPECT_TRUE.
inline ::testing::AssertionResult verdict_is(const Result<conformance::Outcome>& outcome,
                                             conformance::Verdict verdict, std::string_view word) {
  if (!outcome) return ::testing::AssertionFailure() << outcome.error().message;
  if (outcome->verdict == verdict && outcome->reason.find(word) != std::string::npos) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << static_cast<int>(outcome->verdict) << ": " << outcome->reason;
}

/// For EXPECT_TRUE: the first case computes what it expects.
inline ::testing::AssertionResult passes(const std::string& text) {
  return verdict_is(run_first(text), conformance::Verdict::passed, "");
}

/// For EXPECT_TRUE: the node is refused for a reason with that word, which passes where an error is
/// expected and fails where y is.
inline ::testing::AssertionResult is_refused(const std::string& text, std::string_view word) {
  const auto failed = verdict_is(run_first(text), conformance::Verdict::failed, "refused: ");
  if (!failed) return failed;
  return verdict_is(run_first(refusing(text)), conformance::Verdict::passed, word);
}

}  // namespace dequant::testing
