// In which order the elements of a strided plan are done. Any order that does each once is right; the parts
// of a plan that threads take are counted in it.
#pragma once

#include <array>

#include "execute/odometer.h"

namespace dequant {

/// True of a dimension whose indices all have the same sides.
inline bool repeats_sides(const Dimension& d) noexcept { return d.scale == 0 && d.zero_point == 0; }

/// Dimensions to be walked row-major from a place on.
struct Walk {
  std::array<Dimension, kMostDimensions> list;
  size_t rank = 0;
  Place origin;
  /// The innermost two are a transpose: neighbours in y lie apart in x, and the other way round.
  bool transposes = false;

  Dimensions dimensions() const noexcept { return {list.data(), rank}; }
  int64_t elements() const noexcept;
};

/// Where a plan transposes, neighbours in y are done in blocks, so that both sides use whole lines of the
/// cache: first all whole blocks, then what they leave, which may be nothing.
enum class Share : uint8_t { blocks, rest };

Walk walk_of(const Plan& plan, Share share) noexcept;

}  // namespace dequant
