// Collecting vectors: a dialect makes nodes, and the library computes the expected results.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/cases/cases.h"
#include "conformance/vectors/random.h"

namespace dequant::conformance::vectors {

/// A case and its classification.
struct Vector {
  Case c;
  std::string type;         ///< of the codes
  std::string granularity;  ///< "per_tensor", "per_axis", "blocked", a layout, a form of groups
  std::string output;       ///< type of y; empty for a refusal
};

/// Collects the cases of one version of a dialect. Only the first error is kept: a case that the
/// library refuses, a refusal that the library accepts, or two cases of one name.
class Collector {
 public:
  Collector(std::string dialect, std::string version, uint64_t seed);

  /// A generator for the case of that name. It does not depend on other cases.
  Random random(std::string_view name) const;

  /// A case of the dialect and its version, without inputs.
  Case begin(std::string name) const;

  /// accept() adds a case with the y that the library computes. refuse() adds a case that must be
  /// refused, under the name "reject/<rule>/<variant>".
  void accept(Case c, std::string granularity);
  void refuse(Case c, const std::string& rule, std::string_view variant = {});

  /// All cases in the order in which they were added, or the first error.
  Result<std::vector<Vector>> finish() &&;

 private:
  void add(Vector vector);
  void fail(const Case& c, std::string_view what, const Error& error);

  std::string dialect_;
  std::string version_;
  uint64_t seed_;
  std::set<std::string> names_;
  std::vector<Vector> vectors_;
  std::optional<Error> error_;
};

}  // namespace dequant::conformance::vectors
