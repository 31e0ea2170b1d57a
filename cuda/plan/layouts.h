// Fast plans of codes that do not lie as vectors want them.
#pragma once

#include <optional>

#include "cuda/plan/fast_plan.h"

namespace dequant::cuda {

/// The FastPlan of codes in a FastLayout; none for other plans.
std::optional<FastPlan> unpacked(const DevicePlan& p) noexcept;

/// The FastPlan of FastMode::rows; none for other plans.
std::optional<FastPlan> rows_at_once(const DevicePlan& p) noexcept;

/// The layout of rows of words; false for other orders, or more words than 32 bits count.
bool lay_out_rows(const Codes& codes, FastLayout& l) noexcept;

}  // namespace dequant::cuda
