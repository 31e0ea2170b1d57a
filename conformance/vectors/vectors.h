// Making conformance cases: for each version of a dialect its types, granularities, edge cases and
// refusals, with the expected bits. docs/vectors.md describes how to use them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/vectors/collect.h"
#include "dequant/status.h"

namespace dequant::conformance::vectors {

/// Random cases that one file may have: such a file is much smaller than kMaxCaseFile.
inline constexpr int64_t kMostRandom = 10000;

/// What make() should make.
struct Request {
  std::string dialect;
  std::string version;  ///< as in case files; empty: newest_version()
  uint64_t seed = 1;
  int64_t random = 100;  ///< random cases, behind the systematic ones
};

/// The dialects, as case files name them; all schemes of checkpoints among them.
std::vector<std::string> dialects();

/// The versions of a dialect that changed something, oldest first, and the newest version. Empty
/// for an unknown dialect. make() also accepts versions between these for onnx and directml, and
/// later ones for onnx.
std::vector<std::string> versions(std::string_view dialect);

/// The last of versions().
std::string newest_version(std::string_view dialect);

/// Makes cases with the target in use. After force_target("reference") these are the bits that
/// define the results of all targets. A request gives the same cases on every machine. Fails with
/// invalid_argument on an unknown dialect or version or a wrong number, and with unsupported where
/// the library's results violate the rules of the cases.
Result<std::vector<Vector>> make(const Request& request);

/// The cases as a case file, one line for each.
std::string to_json(const Request& request, const std::vector<Vector>& vectors);

}  // namespace dequant::conformance::vectors
