// Conformance case files: nodes with their inputs and the expected output or refusal, as JSON.
// docs/cases.md describes the format.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dequant/status.h"

namespace dequant::conformance {

/// A tensor as written in the file. Type, shape and codes are not checked yet.
struct CaseTensor {
  std::string type;
  std::vector<int64_t> shape;
  std::vector<uint64_t> bits;  ///< a code per element, never packed
  std::optional<std::vector<int64_t>> strides;
};

/// The value of an attribute.
using CaseAttribute = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>>;

/// One case: a node, its inputs, and the expected result.
struct Case {
  std::string name;
  std::string dialect;
  std::string version;  ///< a number in the file as its decimal digits
  std::string operator_name;
  std::map<std::string, CaseAttribute> attributes;
  std::map<std::string, CaseTensor> inputs;
  std::optional<CaseTensor> expect;  ///< absent: the node must be refused
  std::string rule;  ///< the rule that a node to be refused breaks, if the file says so
  int64_t ulp = 0;
  bool ignore_zero_sign = false;
};

/// The contents of a case file.
struct CaseFile {
  std::string about;
  std::vector<Case> cases;
};

/// Bytes of a case file at most.
inline constexpr int64_t kMaxCaseFile = int64_t{64} << 20;

/// The names that cases may have as their dialect: those of operators, then all schemes().
std::vector<std::string> dialects();

/// The name of the input that has the codes: "x", or the first tensor of a scheme.
std::string_view codes_name(std::string_view dialect);

/// Parses the text of a case file. Fails with malformed when the text is not JSON, or has anything
/// that the format does not define. Messages do not name the file.
Result<CaseFile> parse_cases(std::string_view text);

/// Reads a case file. Fails as parse_cases() does, with limit beyond kMaxCaseFile, and with io.
/// Messages name the file.
Result<CaseFile> read_cases(const std::string& path);

}  // namespace dequant::conformance
