// Floats as bit patterns, and the values at which arithmetic tends to go wrong.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "support/random.h"

namespace dequant::testing {

inline float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

/// Scales as bit patterns: zeros, subnormals, NaNs of both kinds, infinities, extremes, plain ones.
inline const std::vector<uint32_t>& edge_scales() {
  static const std::vector<uint32_t> list{
      0x00000000, 0x80000000,              // +0, -0
      0x00000001, 0x80000001, 0x007FFFFF,  // 2^-149, its negative, the largest subnormal
      0x00800000, 0x00400000,              // 2^-126, 2^-127
      0x7F7FFFFF, 0xFF7FFFFF,              // the largest, both signs
      0x7F800000, 0xFF800000,              // infinities
      0x7FC00000, 0xFFC12345, 0x7F800001,  // quiet NaNs, a signalling one
      0xFFA00000,                          // and its negative
      0x3F800000, 0xBF800000, 0x3A83126F,  // 1, -1, 1e-3
      0x3DCCCCCD, 0x42F6E979,              // 0.1, 123.456
      0x33800000, 0x477FE000, 0x387FC000,  // 2^-24, 65504, the smallest normal float16
  };
  return list;
}

/// An edge value now and then, any bit pattern sometimes, mostly something near 1.
inline uint32_t random_scale(Random& random) {
  const auto any = static_cast<uint32_t>(random.bits());
  switch (random.in(0, 7)) {
    case 0: return random.of(edge_scales());
    case 1: return any;
    default: return (any & 0x81FFFFFF) | 0x3C000000;
  }
}

}  // namespace dequant::testing
