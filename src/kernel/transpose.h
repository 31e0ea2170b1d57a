// The transposition of codes one by one: the reference, also used for matrices too small for
// vectors.
#pragma once

#include <cstring>

#include "kernel/kernel.h"

namespace dequant {

template <class T>
void transpose_scalar(const TransposeArgs& a) {
  for (size_t row = 0; row < a.rows; ++row) {
    const uint8_t* from = a.from + static_cast<ptrdiff_t>(row) * a.from_stride;
    uint8_t* to = a.to + row * sizeof(T);
    for (size_t column = 0; column < a.columns; ++column) {
      std::memcpy(to + column * a.to_stride, from + column * sizeof(T), sizeof(T));
    }
  }
}

}  // namespace dequant
