// Plans from strides, which place the elements of every tensor freely. The plan gets the simplest
// equivalent dimensions.
#pragma once

#include <vector>

#include "dequant/plan.h"

namespace dequant {

/// Completes a plan (elements, zero point, rule) with dimensions, given outermost first in any
/// order of strides. Dimensions of size 1 are removed, dimensions are sorted by the stride of y, so
/// that y is written in the order of memory, and neighbours are merged where every tensor allows. A
/// plan whose x, y and parameters are packed becomes per-tensor, per-axis or blocked. Fails with
/// invalid_argument if sizes or strides do not fit in 64 bits, or if elements of y would overlap.
Result<Plan> strided_plan(Plan plan, std::vector<Dimension> dimensions);

/// The checks of strided_plan(): sizes, extents, and that no element of y is written twice.
Status check_dimensions(const Plan& plan);

/// The first and the last element of a tensor that its strides reach, relative to the element whose
/// indices are all 0. `lowest` is 0 unless a stride is negative.
struct Reach {
  int64_t lowest = 0;
  int64_t highest = 0;
};

/// The number of strides from index `first` to index first + count - 1 of a dimension. Scales and
/// zero points of a dimension with blocks move by one stride for each block, not for each index.
inline int64_t steps(const Dimension& d, int64_t Dimension::*stride, int64_t first, int64_t count) {
  const bool of_parameters = stride == &Dimension::scale || stride == &Dimension::zero_point;
  if (!of_parameters || d.block == 1) return count - 1;
  return (first + count - 1) / d.block - first / d.block;
}

/// Demands that check_dimensions() has succeeded.
Reach reach(const std::vector<Dimension>& dimensions, int64_t Dimension::*stride) noexcept;

}  // namespace dequant
