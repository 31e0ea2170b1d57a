// Conformance cases made on demand: for each version of a dialect its types, granularities, edges
// and refusals, with the bits that must come of them. docs/vectors.md is about using them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/vectors/collect.h"
#include "dequant/status.h"

namespace dequant::conformance::vectors {

/// Random cases that one file may have: the limit of what `check` reads is then far.
inline constexpr int64_t kMostRandom = 10000;

struct Request {
  std::string dialect;
  std::string version;  ///< as case files write it; empty: newest_version()
  uint64_t seed = 1;
  int64_t random = 100;  ///< random cases that follow the systematic ones
};

/// The dialects, as case files name them.
std::vector<std::string> dialects();

/// The versions of a dialect that changed something, oldest first, and the newest; empty for what
/// is no dialect. Of onnx and directml those between them are accepted too, of onnx later ones as
/// well.
std::vector<std::string> versions(std::string_view dialect);

/// The last of versions().
std::string newest_version(std::string_view dialect);

/// Makes the cases with the target in use: force_target("reference") first gives the bits that
/// define all others. The same request gives the same cases on every machine. Fails with
/// invalid_argument on a dialect, a version or a number that is none, and with unsupported if the
/// library does not do what the cases ask for.
Result<std::vector<Vector>> make(const Request& request);

/// The cases as a case file, a line each.
std::string to_json(const Request& request, const std::vector<Vector>& vectors);

}  // namespace dequant::conformance::vectors
