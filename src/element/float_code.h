// One generic decoder of floating-point codes for every format of elements.def, and one encoder,
// which rounds to nearest even. Both are written for clarity: tables and tests derive from them.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace dequant {

enum class Specials : uint8_t { none, ieee, fn, fnuz, e8m0 };

/// The layout of one format: sign (all but e8m0), exponent, mantissa, from the top bit down.
struct FloatFormat {
  int bits;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;
};

/// The bits of the canonical NaN in float32. dequant writes it in place of every NaN.
inline constexpr uint32_t kCanonicalNan = 0x7FC00000;

/// 2^exponent as float32, exact for -149 <= exponent <= 127.
constexpr float power_of_two(int exponent) {
  if (exponent >= -126) return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
  return std::bit_cast<float>(uint32_t{1} << (exponent + 149));
}

constexpr bool is_nan_code(FloatFormat f, uint32_t code) {
  const uint32_t magnitude_mask = (uint32_t{1} << (f.bits - 1)) - 1;
  const uint32_t top_exponent = ((uint32_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
  switch (f.specials) {
    case Specials::none: return false;
    case Specials::ieee: return (code & magnitude_mask) > top_exponent;
    case Specials::fn: return (code & magnitude_mask) == magnitude_mask;
    case Specials::fnuz: return code == magnitude_mask + 1;
    case Specials::e8m0: return code == 0xFF;
  }
  return false;
}

/// The value of a code, exact in float32; every NaN is the canonical one.
constexpr float decode_float(FloatFormat f, uint32_t code) {
  if (f.exponent_bits == 8 && f.mantissa_bits == 23) {
    return std::bit_cast<float>(is_nan_code(f, code) ? kCanonicalNan : code);
  }
  if (is_nan_code(f, code)) return std::bit_cast<float>(kCanonicalNan);
  if (f.specials == Specials::e8m0) return power_of_two(static_cast<int>(code) - f.bias);
  const bool negative = (code >> (f.bits - 1)) != 0;
  const uint32_t exponent = (code >> f.mantissa_bits) & ((uint32_t{1} << f.exponent_bits) - 1);
  const uint32_t mantissa = code & ((uint32_t{1} << f.mantissa_bits) - 1);
  float magnitude = 0;
  if (f.specials == Specials::ieee && exponent == (uint32_t{1} << f.exponent_bits) - 1) {
    magnitude = std::numeric_limits<float>::infinity();
  } else if (exponent == 0) {
    // Subnormal: a multiple of the smallest number of the format. The product is exact, also for
    // bfloat16.
    magnitude = static_cast<float>(mantissa) * power_of_two(1 - f.bias - f.mantissa_bits);
  } else {
    // Two products, since 2^(exponent - bias - mantissa_bits) is subnormal for small bfloat16
    // numbers.
    const auto significand = static_cast<float>(mantissa | (uint32_t{1} << f.mantissa_bits));
    magnitude = significand * power_of_two(-f.mantissa_bits) *
                power_of_two(static_cast<int>(exponent) - f.bias);
  }
  return negative ? -magnitude : magnitude;
}

/// The code nearest to a float32 value, ties to even, in an IEEE format (float16, bfloat16,
/// float32). Values too large for the format become infinity. Every NaN becomes the quiet NaN
/// without sign or payload.
constexpr uint32_t encode_float(FloatFormat f, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  const uint32_t sign = (bits >> 31) << (f.bits - 1);
  const uint32_t infinity = ((uint32_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
  if (magnitude > 0x7F800000) return infinity | (uint32_t{1} << (f.mantissa_bits - 1));
  if (magnitude == 0x7F800000) return sign | infinity;

  // value = significand * 2^exponent, exactly.
  const auto biased = static_cast<int>(magnitude >> 23);
  const uint64_t significand = (magnitude & 0x7FFFFF) | (biased == 0 ? 0 : 0x800000);
  const int exponent = (biased == 0 ? 1 : biased) - 127 - 23;

  // The exponent of the last place of the result: that of its binade, or of a subnormal number.
  int step = exponent + 23 - f.mantissa_bits;
  const int smallest = 1 - f.bias - f.mantissa_bits;
  if (step < smallest) step = smallest;
  const int drop = step - exponent;
  uint64_t kept = 0;
  if (drop <= 0) {
    kept = significand;  // the format is float32: nothing to round
  } else if (drop < 40) {
    kept = significand >> drop;
    const uint64_t rest = significand & ((uint64_t{1} << drop) - 1);
    const uint64_t half = uint64_t{1} << (drop - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  }
  // `kept` includes the leading one. The exponent field that it is added to is one too small, so
  // the leading one completes the exponent, and a carry from rounding increases it.
  const uint64_t code = kept + (static_cast<uint64_t>(step - smallest) << f.mantissa_bits);
  return sign | (code >= infinity ? infinity : static_cast<uint32_t>(code));
}

}  // namespace dequant
