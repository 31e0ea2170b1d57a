// Vectors in the making: a dialect says what to try, the library what comes of it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/cases/cases.h"
#include "conformance/vectors/random.h"

namespace dequant::conformance::vectors {

/// A case, and what it is an example of.
struct Vector {
  Case c;
  std::string type;         ///< of x
  std::string granularity;  ///< "per_tensor", "per_axis", "blocked", or how tensors of DirectML lie
  std::string output;       ///< type of y; empty of a refusal
  std::string rule;         ///< the rule that a refusal breaks; empty where there is y
};

/// Collects the cases of one version of a dialect. The first thing that goes wrong ends it: a case
/// that the library refuses, a refusal that it does not, two cases of one name.
class Collector {
 public:
  Collector(std::string dialect, std::string version, uint64_t seed);

  /// Random numbers for the case of that name, the same whatever was made before.
  Random random(std::string_view name) const;

  /// A case of the dialect and its version, without inputs.
  Case begin(std::string name) const;

  /// Adds a case with the y that the library computes, a node that must be refused under
  /// "reject/<rule>/<variant>".
  void accept(Case c, std::string granularity);
  void refuse(Case c, const std::string& rule, std::string_view variant = {});

  /// All cases in the order in which they were added, or what went wrong.
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
