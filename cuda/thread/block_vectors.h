// Neighbouring codes of blocks as floats, in few loads of words. BlockVectors<type> has what
// block::Codec<type> defines, of blocks that are aligned as far as their size allows:
//   Vector<float, kCount> codes<kCount>(const uint8_t* block, int i)
//                                     the codes of elements i to i + kCount - 1, as floats. kCount
//                                     is 4 or 8, and i a multiple of it
//   float scale(const uint8_t* block, int i)     the scale of element i; NaN is some NaN
//   float offset(const uint8_t* block, int i)    its offset, if the type has offsets
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/thread/narrow.h"
#include "cuda/thread/permuted.h"
#include "cuda/thread/vector.h"
#include "cuda/thread/vectors.h"
#include "dequant/block.h"

namespace dequant::cuda {

template <BlockType kType>
struct BlockVectors;

/// Bytes in words, the first one lowest.
template <int kCount>
using Bytes = Vector<uint32_t, kCount / 4>;

DEQUANT_HD inline uint32_t load_half_word(const uint8_t* from) noexcept {
  return *reinterpret_cast<const HalfWord*>(from);
}

/// kCount bytes at an address aligned to kAlign.
template <int kAlign, int kCount>
DEQUANT_HD inline Bytes<kCount> load_bytes(const uint8_t* from) noexcept {
  constexpr int kInLoad = kAlign < kCount ? kAlign : kCount;
  Bytes<kCount> out;
  if constexpr (kInLoad >= 4) {
    struct alignas(kInLoad) [[gnu::may_alias]] Aligned {
      Bytes<kInLoad> words;
    };
    constexpr int kWords = kInLoad / 4;
    for (int j = 0; j < kCount / 4; j += kWords) {
      const Aligned load = *reinterpret_cast<const Aligned*>(from + 4 * j);
      for (int k = 0; k < kWords; ++k) out[j + k] = load.words[k];
    }
  } else if constexpr (kInLoad == 2) {
    for (int j = 0; j < kCount / 4; ++j) {
      out[j] = load_half_word(from + 4 * j) | load_half_word(from + 4 * j + 2) << 16;
    }
  } else {
    for (int j = 0; j < kCount / 4; ++j) {
      const uint8_t* b = from + 4 * j;
      const uint32_t low = b[0] | static_cast<uint32_t>(b[1]) << 8;
      const uint32_t high = b[2] | static_cast<uint32_t>(b[3]) << 8;
      out[j] = low | high << 16;
    }
  }
  return out;
}

template <int kAlign>
DEQUANT_HD inline uint32_t load_aligned_word(const uint8_t* from) noexcept {
  return load_bytes<kAlign, 4>(from)[0];
}

/// Floats are integers from 2^23 on, whose low bits are these of the integer.
inline constexpr uint32_t kFloatOfInteger = 0x4B000000;
inline constexpr float kTwoTo23 = 8388608.0F;

inline constexpr float kTwoTo120 = 1329227995784915872903807060280344576.0F;

DEQUANT_HD inline float magnitude_of(float value) noexcept { return __builtin_fabsf(value); }

/// number - bias, exactly: numbers of at most 16 bits, halves as biases too.
DEQUANT_HD inline float small_float(uint32_t number, float bias = 0) noexcept {
  return std::bit_cast<float>(kFloatOfInteger | number) - (kTwoTo23 + bias);
}

/// Byte j of a word, less a bias.
DEQUANT_HD inline float float_of_byte(uint32_t word, int j, float bias) noexcept {
  const uint32_t selector = 0x7540 + static_cast<uint32_t>(j);
  return std::bit_cast<float>(permuted(word, kFloatOfInteger, selector)) - (kTwoTo23 + bias);
}

/// Bytes as floats, less a bias.
template <int kCount>
DEQUANT_HD inline Vector<float, kCount> floats_of_bytes(const Bytes<kCount>& bytes,
                                                        float bias) noexcept {
  Vector<float, kCount> out;
  for (int j = 0; j < kCount; ++j) out[j] = float_of_byte(bytes[j / 4], j % 4, bias);
  return out;
}

/// Bytes in two's complement as floats.
template <int kCount>
DEQUANT_HD inline Vector<float, kCount> floats_of_int8(Bytes<kCount> bytes) noexcept {
  for (int j = 0; j < kCount / 4; ++j) bytes[j] ^= 0x80808080;
  return floats_of_bytes<kCount>(bytes, 128);
}

/// The lowest kBits bits of every byte, after a shift to the right.
template <int kBits, int kCount>
DEQUANT_HD inline Bytes<kCount> fields_of(Bytes<kCount> bytes, int shift) noexcept {
  for (int j = 0; j < kCount / 4; ++j) bytes[j] = bytes[j] >> shift & low_bits(kBits) * 0x01010101;
  return bytes;
}

/// Four bits, the lowest ones of a word, as the lowest bits of four bytes.
DEQUANT_HD inline uint32_t spread_bits(uint32_t bits) noexcept {
  return (bits & 15) * 0x00204081 & 0x01010101;
}

/// The float32 of a float16.
DEQUANT_HD inline float half_at(const uint8_t* from) noexcept {
  return widen_float16(load_half_word(from));
}

/// One scale for all elements, a float16 at a position in bytes.
template <int kAt>
struct OneScaleVectors {
  DEQUANT_HD static float scale(const uint8_t* block, int) noexcept { return half_at(block + kAt); }
};

}  // namespace dequant::cuda
