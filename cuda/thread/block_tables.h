// Vectors of block::Codec of types whose codes are indices of a table of sixteen, see block/fp4.h.
#pragma once

#include "block/fp4.h"
#include "cuda/thread/block_vectors.h"

namespace dequant::cuda {

/// Four entries of a table of int8, plus 128, in a word.
constexpr uint32_t four_entries(const std::array<int8_t, 16>& table, size_t first) noexcept {
  return static_cast<uint32_t>(block::eight_entries(table, first / 8 * 8) >> first % 8 * 8) ^
         0x80808080;
}

/// The entries, plus 128, of the indices in the lowest four digits of 4 bits.
template <const std::array<int8_t, 16>& kTable>
DEQUANT_HD inline uint32_t look_up(uint32_t digits) noexcept {
  constexpr uint32_t k0 = four_entries(kTable, 0), k4 = four_entries(kTable, 4);
  constexpr uint32_t k8 = four_entries(kTable, 8), k12 = four_entries(kTable, 12);
  const uint32_t selector = digits & 0x7777;
  const uint32_t which = 0x3210 | (digits & 0x8888) >> 1;
  return permuted(permuted(k0, k4, selector), permuted(k8, k12, selector), which);
}

/// The entries of indices of 4 bits, which are the lowest ones of their bytes after a shift.
template <const std::array<int8_t, 16>& kTable, int kCount>
DEQUANT_HD inline Vector<float, kCount> entries_of(const Bytes<kCount>& bytes, int shift) noexcept {
  const Bytes<kCount> indices = fields_of<4, kCount>(bytes, shift);
  Vector<float, kCount> out;
  if constexpr (kCount == 4) {
    const uint32_t digits = permuted(indices[0] | indices[0] >> 4, 0, 0x4420);
    return floats_of_bytes<4>({look_up<kTable>(digits)}, 128);
  } else {
    // Digits of the first four elements are each before that of the element four further on.
    const uint32_t digits = indices[0] | indices[1] << 4;
    const Bytes<8> entries{look_up<kTable>(digits), look_up<kTable>(digits >> 16)};
    for (int j = 0; j < 4; ++j) {
      out[j] = float_of_byte(entries[j / 2], j % 2 * 2, 128);
      out[j + 4] = float_of_byte(entries[j / 2], j % 2 * 2 + 1, 128);
    }
    return out;
  }
}

template <>
struct BlockVectors<BlockType::MXFP4> {
  /// 2^(code - 128): codes 0 and 1 are subnormal.
  DEQUANT_HD static float scale(const uint8_t* block, int) noexcept {
    const uint32_t code = block[0];
    return std::bit_cast<float>(code < 2 ? 0x00200000U << code : (code - 1) << 23);
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const auto bytes = load_bytes<1, kCount>(block + 1 + i % 16);
    return entries_of<block::kTwiceFloat4, kCount>(bytes, i >> 2 & 4);
  }
};

template <>
struct BlockVectors<BlockType::NVFP4> {
  /// Exponent and mantissa at their places in a float32 are a number 2^-120 times as large.
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    const uint32_t code = block[i / 16];
    const float value = std::bit_cast<float>((code & 0x7F) << 20) * power_of_two(119);
    return code == 0x7F ? 0 : value;
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const auto bytes = load_bytes<4, kCount>(block + 4 + i / 16 * 8 + i % 8);
    return entries_of<block::kTwiceFloat4, kCount>(bytes, i >> 1 & 4);
  }
};

template <>
struct BlockVectors<BlockType::IQ4_NL> : OneScaleVectors<0> {
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const auto bytes = load_bytes<2, kCount>(block + 2 + i % 16);
    return entries_of<block::kUnequalSteps, kCount>(bytes, i >> 2 & 4);
  }
};

template <>
struct BlockVectors<BlockType::IQ4_XS> {
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    const Bytes<8> header = load_bytes<8, 8>(block);
    const int g = i / 32;
    const uint32_t low = header[1] >> (4 * g) & 15;
    const uint32_t high = header[0] >> (16 + 2 * g) & 3;
    return widen_float16(header[0] & 0xFFFF) * small_float(low | high << 4, 32);
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const auto bytes = load_bytes<8, kCount>(block + 8 + i / 32 * 16 + i % 16);
    return entries_of<block::kUnequalSteps, kCount>(bytes, i >> 2 & 4);
  }
};

}  // namespace dequant::cuda
