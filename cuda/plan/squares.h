// Fast plans of matrices whose rows lie in x as columns: AWQ, gpt-oss, transposed axes.
#pragma once

#include <optional>

#include "cuda/plan/fast_plan.h"

namespace dequant::cuda {

/// Rows of a square, of codes of so many bits. Its columns are the elements of a vector.
constexpr int square_rows(int bits) { return 32 / bits; }

/// The FastPlan of squares of some rows and a vector of columns, of codes of 4 and 8 bits and of
/// integers of 16: neighbours in x that are a word of 32 bits are a column. All columns of a square
/// have the parameters of a row, or all rows the parameters of a column. None for other plans.
std::optional<FastPlan> squares(const DevicePlan& p) noexcept;

}  // namespace dequant::cuda
