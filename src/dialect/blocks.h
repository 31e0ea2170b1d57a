// Blocks on any axis as strides: the block that an index belongs to becomes a dimension of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "dequant/plan.h"

namespace dequant {

/// One dimension of a tensor and of the scales and zero points that its elements share in blocks.
struct BlockedDimension {
  /// What the dimension is in a side tensor: how many blocks, and how far apart, in elements.
  struct Param {
    int64_t size = 1;  ///< divides that of the dimension
    int64_t stride = 0;
  };

  int64_t size = 1;
  int64_t x = 0;  ///< strides, in elements
  int64_t y = 0;
  Param scale;
  Param zero_point;
};

/// Appends the dimension, cut into blocks and what is within them; three parts where blocks of
/// scales and blocks of zero points differ. False, and nothing appended, where neither of the two
/// block lengths divides the other.
bool append_blocks(std::vector<Dimension>& dimensions, const BlockedDimension& whole);

}  // namespace dequant
