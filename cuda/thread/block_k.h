// Vectors of block::Codec of the K types, see block/k.h.
#pragma once

#include "cuda/thread/block_vectors.h"

namespace dequant::cuda {

/// Codes of 2 bits: each half of the elements has 32 bytes, of which every byte has the codes of
/// four elements 32 apart.
template <int kAlign, int kCount>
DEQUANT_HD inline Bytes<kCount> codes_of_2(const uint8_t* from, int i) noexcept {
  const uint8_t* bytes = from + i / 128 * 32 + i % 32;
  return fields_of<2, kCount>(load_bytes<kAlign, kCount>(bytes), i % 128 / 32 * 2);
}

/// d, dmin and the scales and minima with which Q4_K and Q5_K begin, in one load.
struct KHeader {
  Bytes<16> words;
  DEQUANT_HD explicit KHeader(const uint8_t* block) noexcept : words(load_bytes<16, 16>(block)) {}

  /// The scale of element i in the lowest byte, its minimum in byte 2.
  DEQUANT_HD uint32_t scale_and_min(int i) const noexcept {
    const uint32_t byte = static_cast<uint32_t>(i) / 32 % 4;
    // Bytes `byte` of the first two words, in bytes 0 and 2.
    const uint32_t both = permuted(words[1], words[2], byte * 0x1111 + 0x4400);
    const uint32_t last = permuted(words[3], 0, byte + 0x4440);
    const uint32_t high = (both >> 2 & 0x00300030) | ((last | last << 12) & 0x000F000F);
    return i < 128 ? both & 0x003F003F : high;
  }
};

struct ScalesAndMinsVectors {
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    const KHeader header(block);
    return widen_float16(header.words[0] & 0xFFFF) * float_of_byte(header.scale_and_min(i), 0, 0);
  }
  DEQUANT_HD static float offset(const uint8_t* block, int i) noexcept {
    const KHeader header(block);
    return -(widen_float16(header.words[0] >> 16) * float_of_byte(header.scale_and_min(i), 2, 0));
  }
};

/// Codes of 4 bits: each 64 elements have 32 bytes, whose low halves are the first 32.
template <int kCount>
DEQUANT_HD inline Bytes<kCount> nibbles_of_64(const uint8_t* from, int i) noexcept {
  const uint8_t* bytes = from + i / 64 * 32 + i % 32;
  return fields_of<4, kCount>(load_bytes<8, kCount>(bytes), i >> 3 & 4);
}

template <>
struct BlockVectors<BlockType::Q2_K> {
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    const uint32_t halves = load_aligned_word<4>(block + 80);
    return widen_float16(halves & 0xFFFF) * small_float(block[i / 16] & 15U);
  }
  DEQUANT_HD static float offset(const uint8_t* block, int i) noexcept {
    const uint32_t halves = load_aligned_word<4>(block + 80);
    return -(widen_float16(halves >> 16) * small_float(static_cast<uint32_t>(block[i / 16]) >> 4));
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    return floats_of_bytes<kCount>(codes_of_2<4, kCount>(block + 16, i), 0);
  }
};

template <>
struct BlockVectors<BlockType::Q3_K> {
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    const uint8_t* bytes = block + 96;
    const int g = i / 16;
    const uint32_t low = static_cast<uint32_t>(bytes[g % 8]) >> (g / 8 * 4) & 15;
    const uint32_t high = static_cast<uint32_t>(bytes[8 + g % 4]) >> (g / 4 * 2) & 3;
    return half_at(block + 108) * small_float(low | high << 4, 32);
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    Bytes<kCount> codes = codes_of_2<2, kCount>(block + 32, i);
    const auto high = fields_of<1, kCount>(load_bytes<2, kCount>(block + i % 32), i / 32);
    for (int j = 0; j < kCount / 4; ++j) codes[j] += high[j] * 4;
    return floats_of_bytes<kCount>(codes, 4);
  }
};

template <>
struct BlockVectors<BlockType::Q4_K> : ScalesAndMinsVectors {
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    return floats_of_bytes<kCount>(nibbles_of_64<kCount>(block + 16, i), 0);
  }
};

template <>
struct BlockVectors<BlockType::Q5_K> : ScalesAndMinsVectors {
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    Bytes<kCount> codes = nibbles_of_64<kCount>(block + 48, i);
    const auto high = fields_of<1, kCount>(load_bytes<8, kCount>(block + 16 + i % 32), i / 32);
    for (int j = 0; j < kCount / 4; ++j) codes[j] += high[j] * 16;
    return floats_of_bytes<kCount>(codes, 0);
  }
};

template <>
struct BlockVectors<BlockType::Q6_K> {
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    return half_at(block + 208) * small_float(block[192 + i / 16] ^ 0x80U, 128);
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const uint8_t* low = block + i / 128 * 64 + i % 64;
    Bytes<kCount> codes = fields_of<4, kCount>(load_bytes<2, kCount>(low), i >> 4 & 4);
    const auto high = codes_of_2<2, kCount>(block + 128, i);
    for (int j = 0; j < kCount / 4; ++j) codes[j] += high[j] * 16;
    return floats_of_bytes<kCount>(codes, 32);
  }
};

template <>
struct BlockVectors<BlockType::Q8_K> {
  DEQUANT_HD static float scale(const uint8_t* block, int) noexcept {
    return std::bit_cast<float>(load_aligned_word<4>(block));
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    return floats_of_int8<kCount>(load_bytes<4, kCount>(block + 4 + i));
  }
};

}  // namespace dequant::cuda
