// The elements of a chunk of a dense tensor, and the scales that these elements need.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dequant/plan.h"

namespace dequant::format {

/// True where the codes are slabs and lie in the order of the elements: those of one slab are a
/// range of bytes, and those of two are nearly all bytes.
inline bool has_slabs_in_order(const Plan& plan) {
  const CodeOrder order = plan.parameters.x_packing.order;
  return (order == CodeOrder::slabs || order == CodeOrder::slabs_high_first) &&
         std::all_of(plan.dimensions.begin(), plan.dimensions.end(),
                     [](const Dimension& d) { return d.x == d.y; });
}

/// The end of a chunk that starts at `begin`: after `most` elements, or at the end of the tensor.
/// Per axis, where a row of scales has more elements than a chunk, the chunk also ends at the end
/// of its row, rounded down to a multiple of 8: then it needs a contiguous range of scales. Slabs
/// in order end a chunk, too. Chunks of blocks are whole blocks.
inline int64_t chunk_end(const Plan& plan, int64_t begin, int64_t most) {
  const int64_t count = element_count(plan);
  int64_t end = std::min(count, begin + most);
  if (plan.parameters.x_blocks && end < count)
    return std::max(end - end % plan.block, begin + plan.block);
  const int64_t row = plan.axis * plan.inner;
  if (plan.granularity == Granularity::per_axis && row > most) {
    const int64_t row_end = (begin / row + 1) * row / 8 * 8;
    if (row_end > begin) end = std::min(end, row_end);
  }
  if (has_slabs_in_order(plan)) {
    const int64_t slab = plan.parameters.x_packing.columns;
    end = std::min(end, (begin / slab + 1) * slab);
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
