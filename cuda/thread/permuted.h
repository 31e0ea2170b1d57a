// The byte permutation of devices.
#pragma once

#include <cstdint>

#include "host_device.h"

namespace dequant::cuda {

/// Four bytes of a and b, which are numbered from the lowest byte of a on: each digit of 4 bits of
/// `selector` is the number of one, 0 to 7.
DEQUANT_HD inline uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector) noexcept {
#if defined(__CUDA_ARCH__)
  // The intrinsic clears the highest bits of digits first.
  uint32_t out;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(selector));
  return out;
#else
  const uint64_t both = uint64_t{b} << 32 | a;
  uint32_t out = 0;
  for (int j = 0; j < 4; ++j) {
    out |= static_cast<uint32_t>(both >> (8 * (selector >> (4 * j) & 7)) & 0xFF) << (8 * j);
  }
  return out;
#endif
}

}  // namespace dequant::cuda
