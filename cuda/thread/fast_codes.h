// Codes of a vector as they are stored, and the floats that are made of them: without a conversion
// of an integer to a float, which devices do at a quarter of the rate of an addition.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cuda/plan/fast_plan.h"
#include "cuda/thread/permuted.h"
#include "cuda/thread/vectors.h"

namespace dequant::cuda {

/// The bits of 2^23: the integers below it are the lowest bits of floats from 2^23 on.
inline constexpr uint32_t kShiftBits = 0x4B000000;
inline constexpr float kShift = 8388608.0F;

/// In place of a width: integers in a FastLayout, which become bytes.
inline constexpr int kUnpacked = 0;

/// The bits from a code to the next. Floats of 6 bits become bytes as well.
template <int kBits>
inline constexpr int kWidth = kBits == kUnpacked || kBits == 6 ? 8 : kBits;

/// The bytes of kCount codes of kBits bits: in the lowest bits of a word if they are fewer.
template <int kBits, int kCount>
struct StoredCodes {
  static constexpr int kBytes = kWidth<kBits> * kCount / 8;
  static constexpr int kWords = kBytes < 4 ? 1 : kBytes / 4;
  static constexpr int kInWord = 32 / kWidth<kBits>;
  Vector<uint32_t, kWords> words;
};

/// Reads codes whose bytes are aligned to their size, or to 16.
template <int kBits, int kCount>
DEQUANT_HD inline StoredCodes<kBits, kCount> load_stored(const uint8_t* from) noexcept {
  using Stored = StoredCodes<kBits, kCount>;
  Stored out;
  if constexpr (Stored::kBytes >= 4) {
    constexpr int kInLoad = Stored::kBytes < 16 ? Stored::kWords : 4;
    struct alignas(4 * kInLoad) [[gnu::may_alias]] Aligned {
      Vector<uint32_t, kInLoad> words;
    };
    for (int j = 0; j < Stored::kWords / kInLoad; ++j) {
      const auto loaded = reinterpret_cast<const Aligned*>(from)[j];
      for (int k = 0; k < kInLoad; ++k) out.words[j * kInLoad + k] = loaded.words[k];
    }
  } else {
    out.words[0] = Stored::kBytes == 2 ? *reinterpret_cast<const HalfWord*>(from) : *from;
  }
  return out;
}

/// The codes of each two in the other order.
DEQUANT_HD inline uint32_t swapped_halves(uint32_t word) noexcept {
  return (word & 0x0F0F0F0F) << 4 | (word >> 4 & 0x0F0F0F0F);
}

/// 2^23 + (code ^ sign) of codes of at most 16 bits; `signs` has the sign bit of all codes of a
/// word.
template <int kBits, int kCount>
DEQUANT_HD inline void shifted_codes(const StoredCodes<kBits, kCount>& stored, uint32_t signs,
                                     Vector<float, kCount>& out) noexcept {
  constexpr int kInWord = StoredCodes<kBits, kCount>::kInWord;
  constexpr int kInByte = kWidth<kBits> < 8 ? 8 / kWidth<kBits> : 1;
  for (int j = 0; j < kCount; ++j) {
    uint32_t word = stored.words[j / kInWord] ^ signs;
    const auto k = static_cast<uint32_t>(j % kInWord);
    if constexpr (kBits == 16) {
      word = permuted(word, kShiftBits, k == 0 ? 0x7610 : 0x7632);
    } else {
      if constexpr (kWidth<kBits> < 8) {
        word = word >> (k % kInByte * kBits) & low_bits(kBits) * 0x01010101;
      }
      word = permuted(word, kShiftBits, 0x7650 + k / kInByte);
    }
    out[j] = std::bit_cast<float>(word);
  }
}

/// The codes in the lowest bits of numbers.
template <int kBits, int kCount>
DEQUANT_HD inline uint32_t code_of(const StoredCodes<kBits, kCount>& stored, int j) noexcept {
  constexpr int kInWord = StoredCodes<kBits, kCount>::kInWord;
  return stored.words[j / kInWord] >> (j % kInWord * kWidth<kBits>)&low_bits(kWidth<kBits>);
}

/// A float code in the highest bits of a number. Lower ones are others' if kBits < 32.
template <int kBits, int kCount>
DEQUANT_HD inline uint32_t top_code(const StoredCodes<kBits, kCount>& stored, int j) noexcept {
  constexpr int kInWord = StoredCodes<kBits, kCount>::kInWord;
  return stored.words[j / kInWord] << ((kInWord - 1 - j % kInWord) * kWidth<kBits>);
}

/// The values of float codes that are in the highest bits of `tops`: sign and magnitude move to the
/// places of a float32, whose product with 2^(127 - bias) is exact. Special codes have factors of
/// their own, or are one code. NaN is some NaN.
template <int kCount>
DEQUANT_HD inline void float_values(const FastFloat& f, const Vector<uint32_t, kCount>& tops,
                                    Vector<float, kCount>& out) noexcept {
  const auto moved = [&](int j) {
    return std::bit_cast<float>(static_cast<uint32_t>(static_cast<int32_t>(tops[j]) >> f.shift) &
                                f.mask);
  };
  const float nan = std::bit_cast<float>(kCanonicalNan);
  const float infinity = std::numeric_limits<float>::infinity();
  switch (f.specials) {
    case Specials::fn:
      for (int j = 0; j < kCount; ++j) {
        const float value = moved(j);
        out[j] = value * (std::fabs(value) == f.special ? nan : f.factor);
      }
      return;
    case Specials::ieee:
      for (int j = 0; j < kCount; ++j) {
        const float value = moved(j);
        const float magnitude = std::fabs(value);
        const float factor = magnitude == f.special ? infinity : f.factor;
        out[j] = value * (magnitude > f.special ? nan : factor);
      }
      return;
    case Specials::fnuz:
      for (int j = 0; j < kCount; ++j) {
        const float value = moved(j);
        out[j] = bits_of(value) == 0x80000000 ? nan : value * f.factor;
      }
      return;
    default:
      for (int j = 0; j < kCount; ++j) out[j] = moved(j) * f.factor;
  }
}

}  // namespace dequant::cuda
