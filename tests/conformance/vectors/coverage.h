// Counting what vectors cover, for comparison with tables of the specifications.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "made.h"

namespace dequant::conformance::vectors {

using Names = std::vector<std::string>;

/// "uint8 per_tensor float32", with the operator before where there are several.
inline std::set<std::string> combinations(const std::vector<Vector>& vectors) {
  std::set<std::string> found;
  for (const Vector& v : vectors) {
    if (!v.c.rule.empty()) continue;
    const std::string prefix = v.c.operator_name.empty() ? "" : v.c.operator_name + " ";
    found.insert(prefix + v.type + " " + v.granularity + " " + v.output);
  }
  return found;
}

inline std::set<std::string> product(const Names& a, const Names& b, const Names& c) {
  std::set<std::string> all;
  for (const auto& x : a) {
    for (const auto& y : b) {
      for (const auto& z : c) all.insert(x + " " + y + " " + z);
    }
  }
  return all;
}

/// How many variants each rule is broken in.
inline std::map<std::string, int> rules(const std::vector<Vector>& vectors) {
  std::map<std::string, int> counts;
  for (const Vector& v : vectors) {
    if (!v.c.rule.empty()) ++counts[v.c.rule];
  }
  return counts;
}

inline Names keys(const std::map<std::string, int>& counts) {
  Names names;
  for (const auto& [name, n] : counts) names.push_back(name);
  return names;
}

inline Names operator+(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace dequant::conformance::vectors
