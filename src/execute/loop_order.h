// In which order the elements of a region of a strided plan are done. Any order that does each once
// is right; the parts of a plan that threads take are counted in it.
#pragma once

#include <array>

#include "execute/odometer.h"

namespace dequant {

/// True of a dimension whose indices all have the same parameters.
inline bool repeats_params(const Dimension& d) noexcept {
  return d.scale == 0 && d.zero_point == 0 && d.group_index == 0;
}

/// Dimensions to be visited row-major from an offset on.
struct LoopOrder {
  std::array<Dimension, kMostDimensions> list;
  size_t rank = 0;
  Offsets origin;
  /// The innermost two are a transpose: neighbours in y lie apart in x, and the other way round.
  bool transposes = false;

  Dimensions dimensions() const noexcept { return {list.data(), rank}; }
  int64_t elements() const noexcept;
};

/// Where a plan transposes, neighbours in y are done in blocks, so that x and y both use whole
/// cache lines: first all whole blocks, then what they leave, which may be nothing.
enum class Phase : uint8_t { blocks, rest };

LoopOrder loop_order_of(const Plan& plan, const Region& region, Phase phase) noexcept;

}  // namespace dequant
