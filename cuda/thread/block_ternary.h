// Vectors of block::Codec of types of one bit, of two bits and of ternary digits, see
// block/ternary.h.
#pragma once

#include "cuda/thread/block_k.h"

namespace dequant::cuda {

/// Digits of four bytes as floats. What is left of a byte before digit `place` is the low byte of
/// its product with 3^place, which fits in 16 bits; the digit is the high byte of three times that.
DEQUANT_HD inline Vector<float, 4> ternary_digits(uint32_t bytes, uint32_t power) noexcept {
  const uint32_t even = ((bytes & 0x00FF00FF) * power & 0x00FF00FF) * 3;
  const uint32_t odd = ((bytes >> 8 & 0x00FF00FF) * power & 0x00FF00FF) * 3;
  return {float_of_byte(even, 1, 1), float_of_byte(odd, 1, 1), float_of_byte(even, 3, 1),
          float_of_byte(odd, 3, 1)};
}

template <>
struct BlockVectors<BlockType::TQ1_0> : OneScaleVectors<52> {
  /// Where the bytes of four elements are, and 3 to the power of their digit's place.
  struct Place {
    int byte;
    uint32_t power;
  };
  DEQUANT_HD static Place place_of(int i) noexcept {
    int byte = i & 31;
    int place = i >> 5;
    if (i >= 160) {
      byte = 32 + (i & 15);
      place = (i - 160) >> 4;
    }
    if (i >= 240) {
      byte = 48;
      place = (i - 240) >> 2;
    }
    // 1, 3, 9, 27, 81
    return {byte, permuted(0x1B090301, 81, 0x5550 + static_cast<uint32_t>(place))};
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    Vector<float, kCount> out;
    for (int j = 0; j < kCount; j += 4) {
      const Place place = place_of(i + j);
      const auto digits = ternary_digits(load_aligned_word<2>(block + place.byte), place.power);
      for (int k = 0; k < 4; ++k) out[j + k] = digits[k];
    }
    return out;
  }
};

template <>
struct BlockVectors<BlockType::TQ2_0> : OneScaleVectors<64> {
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    return floats_of_bytes<kCount>(codes_of_2<2, kCount>(block, i), 1);
  }
};

template <>
struct BlockVectors<BlockType::Q1_0> : OneScaleVectors<0> {
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const uint32_t negative = ~(static_cast<uint32_t>(block[2 + i / 8]) >> (i & 7));
    Vector<float, kCount> out;
    for (int j = 0; j < kCount; ++j) {
      out[j] = std::bit_cast<float>(0x3F800000 | (negative << (31 - j) & 0x80000000));
    }
    return out;
  }
};

template <>
struct BlockVectors<BlockType::Q2_0> : OneScaleVectors<0> {
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const uint8_t* from = block + 2 + i / 4;
    const uint32_t fields = kCount == 8 ? load_half_word(from) : *from;
    Vector<float, kCount> out;
    for (int j = 0; j < kCount; ++j) out[j] = small_float(fields >> (2 * j) & 3, 1);
    return out;
  }
};

}  // namespace dequant::cuda
