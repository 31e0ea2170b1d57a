// What a way needs to know of tiles of rows and columns of y.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dequant {

struct MatrixTiles {
  int64_t columns;  ///< of a row of y
  int64_t aligned;  ///< rows of which a chunk has a multiple

  /// Elements of a chunk of about so many.
  int64_t chunk(int64_t elements) const noexcept {
    return std::max<int64_t>(elements / columns / aligned, 1) * aligned * columns;
  }
};

}  // namespace dequant
