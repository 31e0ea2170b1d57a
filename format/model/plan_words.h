// Words and numbers of a plan for reports.
#pragma once

#include <cstdint>
#include <string_view>

#include "dequant/plan.h"

namespace dequant::format {

/// The granularity as a key: "per_tensor", "per_axis", "blocked", "strided".
std::string_view granularity_key(const Plan& plan);

/// Elements of a block; 0 where the plan is not blocked.
inline int64_t block_size(const Plan& plan) {
  return plan.granularity == Granularity::blocked ? plan.block : 0;
}

}  // namespace dequant::format
