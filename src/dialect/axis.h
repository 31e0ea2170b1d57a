// The one place where an axis from outside becomes an index.
#pragma once

#include <cstdint>

#include "dequant/status.h"
#include "text.h"

namespace dequant {

/// An axis in [-rank, rank - 1] as an index from the front; negative counts from the back.
inline Result<int64_t> normalize_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return invalid("axis: ", axis, " is outside [", -rank, ", ", rank - 1, "] for x of rank ",
                   rank);
  }
  return axis < 0 ? axis + rank : axis;
}

}  // namespace dequant
