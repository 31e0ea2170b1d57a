// Tables of the values of all codes, for floats of at most 8 bits.
#pragma once

#include <array>
#include <cstdint>

#include "dequant/element.h"

namespace dequant {

/// Tables of 16 bytes whose sums are the bfloat16 code of the value of an 8-bit float. `upper` and
/// `lower` are the hexadecimal digits of the 8-bit code; the 16 codes with the same upper digit are
/// a row. A row of normal codes spans an even number of binades, the same in every row, so that
/// rows differ only in the upper byte of the bfloat16 code. Modulo 256, for all codes but NaN and
/// infinity,
///   lower byte = low[lower] + first_low[code without sign],
///   upper byte = high[lower] + row[upper] + first_high[code without sign].
/// first_low and first_high correct the first row, which has the subnormal codes; for codes of 16
/// and more their terms are zero.
struct DigitSums {
  using Bytes = std::array<uint8_t, 16>;
  Bytes low{};
  Bytes high{};
  Bytes row{};
  Bytes first_low{};
  Bytes first_high{};
  // In elements without infinities a code is NaN if (code & nan_mask) == nan.
  uint8_t nan_mask = 0x7F;
  uint8_t nan = 0x7F;
};

/// The table of a float of at most 8 bits; null for other elements. With n = 256, 64 or 16 codes it
/// holds n float32 values, then the n lower bytes and the n upper bytes of the values' bfloat16
/// codes (every value is exact in bfloat16), then, for 8-bit floats, the DigitSums.
const float* lut_of(Element element) noexcept;

/// The DigitSums in the table of an 8-bit float.
inline const DigitSums* digit_sums_behind(const float* lut) {
  return reinterpret_cast<const DigitSums*>(reinterpret_cast<const uint8_t*>(lut + 256) + 2 * 256);
}

}  // namespace dequant
