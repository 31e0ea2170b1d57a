// A dimension and its blocks as two or three dimensions with strides.
#include "dialect/blocks.h"

#include <algorithm>

namespace dequant {

bool append_blocks(std::vector<Dimension>& dimensions, const BlockedDimension& whole) {
  const int64_t of_scale = whole.size / whole.scale.size;
  const int64_t of_zero = whole.size / whole.zero_point.size;
  const int64_t small = std::min(of_scale, of_zero);
  const int64_t large = std::max(of_scale, of_zero);
  if (large % small != 0) return false;

  // Neighbours are `step` elements of the whole dimension apart: step / block blocks, or none where
  // they are in the same block.
  const auto append = [&](int64_t step, int64_t size) {
    const auto stride_of = [&](const BlockedDimension::Param& param, int64_t block) {
      return step < block ? 0 : step / block * param.stride;
    };
    dimensions.push_back({.size = size,
                          .x = step * whole.x,
                          .scale = stride_of(whole.scale, of_scale),
                          .zero_point = stride_of(whole.zero_point, of_zero),
                          .y = step * whole.y});
  };
  append(large, whole.size / large);
  append(small, large / small);
  append(1, small);
  return true;
}

}  // namespace dequant
