// Cutting a span of elements into tiles.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernel/kernel.h"

namespace dequant {

/// Elements of the tile at element i of `count`, at most `most`: whole groups or, of groups longer
/// than that, elements of one group.
inline int64_t tile_size(ScaleLayout scale_layout, int64_t i, int64_t count, int64_t group,
                         int64_t most) noexcept {
  const int64_t left = std::min(most, count - i);
  if (scale_layout == ScaleLayout::per_element) return left;
  if (group <= most) return std::min(most / group * group, left);
  return std::min(left, group - i % group);
}

}  // namespace dequant
