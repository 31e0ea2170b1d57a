// Blocks on any axis as strides: the block that an index belongs to becomes a dimension of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "dequant/plan.h"

namespace dequant {

/// One dimension of a tensor and of the scales and zero points that its elements share in blocks.
struct BlockedDimension {
  /// The dimension in the tensor of a parameter: one element for each block.
  struct Param {
    int64_t size = 1;    ///< how many blocks; divides the size of the dimension
    int64_t stride = 0;  ///< from one block to the next, in elements
  };

  int64_t size = 1;
  int64_t x = 0;  ///< strides, in elements
  int64_t y = 0;
  Param scale;
  Param zero_point;
};

/// Appends the dimension as three: the larger blocks, the smaller blocks within a larger one, the
/// elements within a smaller one. The block lengths of scale and zero point may differ; where they
/// are equal, the second has size 1. Returns false, and appends nothing, where neither of the two
/// lengths divides the other.
bool append_blocks(std::vector<Dimension>& dimensions, const BlockedDimension& whole);

}  // namespace dequant
