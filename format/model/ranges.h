// The elements of a chunk of a dense tensor, and the scales that these elements need.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dequant/plan.h"

namespace dequant::format {

/// The end of a chunk that starts at `begin`: after `most` elements, or at the end of the tensor.
/// Per axis, where a row of scales has more elements than a chunk, the chunk also ends at the end
/// of its row, rounded down to a multiple of 8: then it needs a contiguous range of scales.
inline int64_t chunk_end(const Plan& plan, int64_t begin, int64_t most) {
  const int64_t count = element_count(plan);
  int64_t end = std::min(count, begin + most);
  const int64_t row = plan.axis * plan.inner;
  if (plan.granularity == Granularity::per_axis && row > most) {
    const int64_t row_end = (begin / row + 1) * row / 8 * 8;
    if (row_end > begin) end = std::min(end, row_end);
  }
  return end;
}

/// The range of scales, and of zero points, that run() or run_range() needs for a range of
/// elements.
inline Range groups_of(const Plan& plan, Range elements) {
  const Range all{0, element_count(plan)};
  return elements == all ? Range{0, scale_count(plan)} : scales_of(plan, elements);
}

}  // namespace dequant::format
