// Vectors of block::Codec of types with one float16 scale in a block of 32, see block/legacy.h.
#pragma once

#include "cuda/thread/block_vectors.h"

namespace dequant::cuda {

/// Codes of 4 bits in bytes: of elements 0 to 15 of 32 in the low halves of 16 bytes, which are
/// aligned to kAlign.
template <int kAlign, int kCount>
DEQUANT_HD inline Bytes<kCount> nibbles_of_32(const uint8_t* from, int i) noexcept {
  return fields_of<4, kCount>(load_bytes<kAlign, kCount>(from + (i & 15)), i >> 2 & 4);
}

/// The same with a fifth bit, bit i of a word.
template <int kAlign, int kCount>
DEQUANT_HD inline Bytes<kCount> codes_of_5(const uint8_t* from, uint32_t high, int i) noexcept {
  Bytes<kCount> out = nibbles_of_32<kAlign, kCount>(from, i);
  for (int j = 0; j < kCount / 4; ++j) out[j] |= spread_bits(high >> (i + 4 * j)) << 4;
  return out;
}

template <>
struct BlockVectors<BlockType::Q4_0> : OneScaleVectors<0> {
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    return floats_of_bytes<kCount>(nibbles_of_32<2, kCount>(block + 2, i), 8);
  }
};

template <>
struct BlockVectors<BlockType::Q4_1> : OneScaleVectors<0> {
  DEQUANT_HD static float offset(const uint8_t* block, int) noexcept { return half_at(block + 2); }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    return floats_of_bytes<kCount>(nibbles_of_32<4, kCount>(block + 4, i), 0);
  }
};

template <>
struct BlockVectors<BlockType::Q5_0> : OneScaleVectors<0> {
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const uint32_t high = load_aligned_word<2>(block + 2);
    return floats_of_bytes<kCount>(codes_of_5<2, kCount>(block + 6, high, i), 16);
  }
};

template <>
struct BlockVectors<BlockType::Q5_1> : OneScaleVectors<0> {
  DEQUANT_HD static float offset(const uint8_t* block, int) noexcept { return half_at(block + 2); }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const uint32_t high = load_aligned_word<4>(block + 4);
    return floats_of_bytes<kCount>(codes_of_5<8, kCount>(block + 8, high, i), 0);
  }
};

template <>
struct BlockVectors<BlockType::Q8_0> : OneScaleVectors<0> {
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    return floats_of_int8<kCount>(load_bytes<2, kCount>(block + 2 + i));
  }
};

template <>
struct BlockVectors<BlockType::Q8_1> : OneScaleVectors<0> {
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    return floats_of_int8<kCount>(load_bytes<4, kCount>(block + 4 + i));
  }
};

}  // namespace dequant::cuda
