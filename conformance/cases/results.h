// Result files: what another implementation has computed from the cases of a case file, as JSON,
// and the judgement on it. docs/cases.md describes the format.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "conformance/cases/cases.h"
#include "conformance/cases/outcome.h"
#include "dequant/status.h"

namespace dequant::conformance {

/// The implementation has refused the node.
struct Refusal {
  std::string message;  ///< empty where the file has only `true`
};

/// The implementation was not asked.
struct Omission {
  std::string reason;
};

/// What became of one case. The tensor is as the file has it: type, shape and codes are not checked
/// yet, and it has no strides.
struct CaseResult {
  std::string name;  ///< that of the case
  std::variant<CaseTensor, Refusal, Omission> what;
};

/// The contents of a result file.
struct ResultFile {
  std::string about;
  std::vector<CaseResult> results;
};

/// Parses the text of a result file. Fails with malformed when the text is not JSON, has anything
/// that the format does not define, or has two results of one name. Messages do not name the file.
Result<ResultFile> parse_results(std::string_view text);

/// Reads a result file. Fails as parse_results() does, with limit beyond kMaxCaseFile, and with io.
/// Messages name the file.
Result<ResultFile> read_results(const std::string& path);

/// Judges what another implementation made of a case; a null `result` is a case that it has no
/// result for, which fails. The inputs of the case are not looked at. Fails with malformed where y
/// or the expected y is inconsistent; messages do not name the case.
Result<Outcome> judge_result(const Case& c, const CaseResult* result);

}  // namespace dequant::conformance
