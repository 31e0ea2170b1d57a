// Forcing a target for the length of a scope.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dequant/isa.h"

namespace dequant::testing {

class ForcedTarget {
 public:
  explicit ForcedTarget(std::string_view name) : before_(active_target()) {
    EXPECT_TRUE(force_target(name)) << name;
  }
  ~ForcedTarget() { EXPECT_TRUE(force_target(before_)); }
  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;

 private:
  std::string before_;
};

}  // namespace dequant::testing
