// Whether addresses allow the loads and stores of vectors.
#pragma once

#include <cstdint>

namespace dequant::cuda {

/// True if an address is a multiple of `bytes`.
inline bool is_aligned(const void* address, int64_t bytes) noexcept {
  return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(bytes) == 0;
}

}  // namespace dequant::cuda
