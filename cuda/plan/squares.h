// Fast plans of matrices whose rows lie in x as columns: AWQ, gpt-oss.
#pragma once

#include <optional>

#include "cuda/plan/fast_plan.h"

namespace dequant::cuda {

/// Rows of a square. Its columns are the elements of a vector.
inline constexpr int kSquareRows = 8;

/// The FastPlan of squares of 8 rows and a vector of columns, of codes of 4 bits: 8 neighbours in
/// x, which are a word, are a column. Integers have the parameters of a row for all columns of the
/// square, floats those of a column for all rows. None for other plans.
std::optional<FastPlan> squares(const DevicePlan& p) noexcept;

}  // namespace dequant::cuda
