// Distances in units in the last place.
//
// The numbers of a type are counted in the order of their values: subnormal numbers too, and zeros
// of both signs are one number. The count goes on beyond the largest number. A float32 between two
// numbers of the type counts as the nearest one, ties to even. So a float32 and a float16 are 0
// steps of float16 apart where the float32 rounds to the float16.
#pragma once

#include <bit>
#include <cstdint>

#include "dequant/element.h"

namespace dequant::format {

/// The one of two output types that has fewer bits of precision: bfloat16, float16, float32.
inline Element coarser(Element a, Element b) {
  for (const Element coarse : {Element::bfloat16, Element::float16})
    if (a == coarse || b == coarse) return coarse;
  return Element::float32;
}

/// The number of steps of a type from 0 to |value|. `magnitude` holds the bits of |value| as a
/// float32, which is finite.
template <Element kType>
uint32_t ordinal_of(uint32_t magnitude) {
  if constexpr (kType == Element::float32) {
    return magnitude;
  } else {
    // The exponent stands above the significand, so rounding up to the next power of two carries
    // into it. Exponents of bfloat16 are those of float32, subnormal numbers included.
    constexpr int kDrop = kType == Element::bfloat16 ? 16 : 13;
    const uint32_t even = (magnitude >> kDrop) & 1;
    const uint32_t rounded = (magnitude + even + ((1u << (kDrop - 1)) - 1)) >> kDrop;
    if constexpr (kType == Element::bfloat16) {
      return rounded;
    } else {
      constexpr uint32_t kSmallestNormal = 113u << 23;  // 2^-14 as float32
      constexpr uint32_t kExponents = 112u << 10;       // by which the biases differ
      // Subnormal numbers are multiples of 2^-24. A sum of at least 2^23 has no fraction bits.
      const float multiples = std::bit_cast<float>(magnitude) * 0x1p24f + 0x1p23f;
      const uint32_t small = std::bit_cast<uint32_t>(multiples) - std::bit_cast<uint32_t>(0x1p23f);
      return magnitude < kSmallestNormal ? small : rounded - kExponents;
    }
  }
}

/// How many steps lie between two finite numbers, which are given by their bits as float32.
template <Element kType>
uint32_t steps_between(uint32_t a, uint32_t b) {
  constexpr uint32_t kSign = 1u << 31;
  const uint32_t ordinal_a = ordinal_of<kType>(a & ~kSign);
  const uint32_t ordinal_b = ordinal_of<kType>(b & ~kSign);
  const uint32_t apart = ordinal_a > ordinal_b ? ordinal_a - ordinal_b : ordinal_b - ordinal_a;
  return ((a ^ b) & kSign) != 0 ? ordinal_a + ordinal_b : apart;
}

/// The bin of a number of steps: 0, 1, 2, 3-4, 5-8, ...
inline size_t step_bin(uint32_t steps) {
  return steps == 0 ? 0 : static_cast<size_t>(std::bit_width(steps - 1)) + 1;
}

}  // namespace dequant::format
