// Vectors as the tests ask for them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance/vectors/vectors.h"
#include "support/expect_error.h"

namespace dequant::testing {

/// A dialect and one of its versions.
struct Versioned {
  std::string dialect;
  std::string version;
};

/// Every version of every dialect that differs from the others.
inline std::vector<Versioned> all_versions() {
  std::vector<Versioned> all;
  for (const std::string& dialect : conformance::vectors::dialects()) {
    for (const std::string& version : conformance::vectors::versions(dialect)) {
      all.push_back({dialect, version});
    }
  }
  return all;
}

inline std::string test_name(const ::testing::TestParamInfo<Versioned>& info) {
  std::string name = info.param.dialect + "_" + info.param.version;
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

inline std::vector<conformance::vectors::Vector> made(
    const conformance::vectors::Request& request) {
  auto vectors = conformance::vectors::make(request);
  EXPECT_TRUE(succeeds(vectors));
  return vectors ? *std::move(vectors) : std::vector<conformance::vectors::Vector>();
}

}  // namespace dequant::testing
