// Scales and zero points of plans with a group index, which no strides reach.
#pragma once

#include <cstdint>

#include "execute/odometer.h"

namespace dequant {

/// One scale as float32 for each index of the dimensions of a tile, of which inner ones may be left
/// out; at most kParams. Of zero points as load_zeros() has them.
void gather_indexed_scales(const Plan& plan, const Buffers& buffers, Dimensions dimensions,
                           const Tile& tile, const Offsets& at, float* out) noexcept;
void gather_indexed_zeros(const Plan& plan, const Buffers& buffers, Dimensions dimensions,
                          const Tile& tile, const Offsets& at, int32_t* out) noexcept;

}  // namespace dequant
