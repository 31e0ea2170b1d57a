// Which elements of a dense tensor are computed at a time, and which scales they need.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dequant/plan.h"

namespace dequant::format {

/// Where a chunk that starts at `begin` ends: after `most` elements, but not within a later row of
/// scales than it starts in when one row alone is as long.
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

/// The scales, and zero points, that run() or run_range() takes for a range of elements.
inline Range groups_of(const Plan& plan, Range elements) {
  const Range all{0, element_count(plan)};
  return elements == all ? Range{0, scale_count(plan)} : scales_of(plan, elements);
}

}  // namespace dequant::format
