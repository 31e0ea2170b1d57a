// Tables of the value of every code, for the floats of at most 8 bits.
#pragma once

#include <array>
#include <cstdint>

#include "dequant/element.h"

namespace dequant {

/// The bfloat16 code of an 8-bit float's value as sums of bytes that its digits select, where its
/// code is the digits (upper, lower): 16 codes in a row span whole powers of two, of which each row
/// has the same number. So, modulo 256, of all codes but those of NaN and infinity,
///   lower byte: low[lower] + first_low[code without sign],
///   upper byte: high[lower] + row[upper] + first_high[code without sign],
/// where `first`, which is zero beyond 16 codes, makes up for subnormal ones.
struct DigitSums {
  using Bytes = std::array<uint8_t, 16>;
  Bytes low{};
  Bytes high{};
  Bytes row{};
  Bytes first_low{};
  Bytes first_high{};
  // Of elements without infinities, NaN is the code with (code & nan_mask) == nan.
  uint8_t nan_mask = 0x7F;
  uint8_t nan = 0x7F;
};

/// 256 values for an 8-bit float, 64 for a 6-bit one, 16 for a 4-bit one; null for integers. Behind
/// them lie as many lower bytes of their bfloat16 codes, and as many upper ones: every value is a
/// bfloat16. Behind those of an 8-bit float lie its DigitSums.
const float* lut_of(Element element) noexcept;

/// Those of an 8-bit float.
inline const DigitSums* digit_sums_behind(const float* lut) {
  return reinterpret_cast<const DigitSums*>(reinterpret_cast<const uint8_t*>(lut + 256) + 2 * 256);
}

}  // namespace dequant
