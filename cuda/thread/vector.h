// A few values of one thread, which compilers keep in registers.
#pragma once

#include <cstddef>

#include "host_device.h"

namespace dequant::cuda {

template <class T, int kCount>
struct Vector {
  T values[static_cast<size_t>(kCount)];

  DEQUANT_HD T& operator[](int j) noexcept { return values[j]; }
  DEQUANT_HD const T& operator[](int j) const noexcept { return values[j]; }
};

}  // namespace dequant::cuda
