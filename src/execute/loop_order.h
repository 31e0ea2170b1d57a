// The loop order: in which order the elements of a region of a strided plan are dequantized. Chunks
// are consecutive elements of this order.
#pragma once

#include <array>

#include "execute/odometer.h"

namespace dequant {

/// True if all indices of a dimension have the same scale and zero point.
inline bool repeats_params(const Dimension& d) noexcept {
  return d.scale == 0 && d.zero_point == 0 && d.group_index == 0;
}

/// Dimensions in loop order, visited row-major from `origin` on.
struct LoopOrder {
  std::array<Dimension, kMostDimensions> list;
  size_t rank = 0;
  Offsets origin;
  /// The innermost two dimensions are transposed: the last is the densest in y, the one before it
  /// the densest in x.
  bool transposes = false;

  Dimensions dimensions() const noexcept { return {list.data(), rank}; }
  /// The product of all sizes.
  int64_t elements() const noexcept;
};

/// Where a plan transposes, its innermost dimension is cut into blocks, so that x and y are both
/// accessed by whole cache lines: first all whole blocks, then the rest, which may be empty.
enum class Phase : uint8_t { blocks, rest };

LoopOrder loop_order_of(const Plan& plan, const Region& region, Phase phase) noexcept;

}  // namespace dequant
