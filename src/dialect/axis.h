// Makes an axis from outside an index, and a shape the three sizes before, on and behind an axis.
#pragma once

#include <cstdint>
#include <string_view>

#include "dequant/plan.h"
#include "dequant/tensor.h"
#include "text.h"

namespace dequant {

/// An axis in [-rank, rank - 1] as an index from the front; negative counts from the back. `tensor`
/// is the name that the dialect gives to the tensor of this rank. Fails with invalid_argument where
/// the axis is out of range.
inline Result<int64_t> normalize_axis(int64_t axis, int64_t rank, std::string_view tensor = "x") {
  if (axis < -rank || axis >= rank) {
    return invalid("axis: ", axis, " is outside [", -rank, ", ", rank - 1, "] for ", tensor,
                   " of rank ", rank);
  }
  return axis < 0 ? axis + rank : axis;
}

/// Sets the plan's view of a shape as [outer, axis, inner]. The shape has passed element_count(),
/// so no product of its dimensions overflows, zeros or not.
inline void view_at(Plan& plan, Shape shape, int64_t axis) {
  const auto product = [](Shape dimensions) {
    int64_t p = 1;
    for (const int64_t d : dimensions) p *= d;
    return p;
  };
  const auto at = static_cast<size_t>(axis);
  plan.outer = product(shape.first(at));
  plan.axis = shape[at];
  plan.inner = product(shape.subspan(at + 1));
}

}  // namespace dequant
