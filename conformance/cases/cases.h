// Conformance case files: one node with its inputs and what must come of it, as JSON. docs/cases.md
// describes the format.
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

/// A tensor as the file gives it: nothing proven yet about its type, shape and codes.
struct CaseTensor {
  std::string type;
  std::vector<int64_t> shape;
  std::vector<uint64_t> bits;  ///< a code per element, never packed
  std::optional<std::vector<int64_t>> strides;
};

using CaseAttribute = std::variant<int64_t, double, bool, std::string>;

struct Case {
  std::string name;
  std::string dialect;
  std::string version;  ///< a number in the file becomes its digits
  std::string operator_name;
  std::map<std::string, CaseAttribute> attributes;
  std::map<std::string, CaseTensor> inputs;
  std::optional<CaseTensor> expect;  ///< absent: the node must be refused
  int64_t ulp = 0;
  bool ignore_zero_sign = false;
};

struct CaseFile {
  std::string about;
  std::vector<Case> cases;
};

/// Bytes of a case file that are read.
inline constexpr int64_t kMaxCaseFile = int64_t{64} << 20;

/// Fails with malformed when the text is not JSON or says anything that the format does not define.
/// Messages do not name the file.
Result<CaseFile> parse_cases(std::string_view text);

/// The same for a file, which messages name. Fails with limit beyond kMaxCaseFile.
Result<CaseFile> read_cases(const std::string& path);

}  // namespace dequant::conformance
