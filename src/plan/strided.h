// Plans from strides: free placement of every tensor, brought into the simplest form that says the
// same.
#pragma once

#include <vector>

#include "dequant/plan.h"

namespace dequant {

/// Completes a plan (elements, zero point, rule) with dimensions, given outermost first in any
/// order of strides. Dimensions of size 1 go, neighbours that every tensor steps through alike
/// become one, and the dimensions are sorted by y so that output is written in the order of memory.
/// A plan whose x, y and parameters turn out packed becomes a per-tensor, per-axis or blocked one.
/// Fails with invalid_argument when sizes or strides do not fit in 64 bits, or when elements of y
/// would overlap.
Result<Plan> strided_plan(Plan plan, std::vector<Dimension> dimensions);

/// The checks alone: sizes, extents, and that no element of y is written twice.
Status check_dimensions(const Plan& plan);

/// First and last element that a tensor reaches, relative to its element of index 0 everywhere:
/// lowest is 0 unless a stride is negative. Valid after check_dimensions().
struct Reach {
  int64_t lowest = 0;
  int64_t highest = 0;
};

/// Strides from the first to the last of some indices: where these share scales and zero points in
/// blocks, one for each block but the first.
inline int64_t steps(const Dimension& d, int64_t Dimension::*stride, int64_t first, int64_t count) {
  const bool of_sides = stride == &Dimension::scale || stride == &Dimension::zero_point;
  if (!of_sides || d.block == 1) return count - 1;
  return (first + count - 1) / d.block - first / d.block;
}

Reach reach(const std::vector<Dimension>& dimensions, int64_t Dimension::*stride) noexcept;

}  // namespace dequant
