// Small tables and scales that scalar and vector code share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "element/float_code.h"

namespace dequant::block {

/// Twice the value of each float4e2m1 code. The negative zero is a zero.
inline constexpr std::array<int8_t, 16> kTwiceFloat4{0, 1,  2,  3,  4,  6,  8,  12,
                                                     0, -1, -2, -3, -4, -6, -8, -12};

/// The values of IQ4_NL and IQ4_XS.
inline constexpr std::array<int8_t, 16> kUnequalSteps{-127, -104, -83, -65, -49, -35, -22, -10,
                                                      1,    13,   25,  38,  53,  69,  89,  113};

/// Half of an E8M0 scale, 2^(code - 128). Code 255 is no NaN, but 2^127.
constexpr float half_of_e8m0(uint8_t code) noexcept { return power_of_two(code - 128); }

/// Half of an E4M3 scale without its sign. Code 0x7F is no NaN, but zero; 0xFF is half of 480.
constexpr float half_of_ue4m3(uint8_t code) noexcept {
  if (code == 0x7F) return 0;
  const int exponent = code >> 3 & 15;
  const int mantissa = code & 7;
  const int significand = exponent == 0 ? mantissa : 8 + mantissa;
  return static_cast<float>(significand) * power_of_two((exponent == 0 ? 1 : exponent) - 11);
}

/// half_of_ue4m3() of every code.
inline constexpr auto kHalfOfUE4M3 = [] {
  std::array<float, 256> out{};
  for (size_t code = 0; code < out.size(); ++code) {
    out[code] = half_of_ue4m3(static_cast<uint8_t>(code));
  }
  return out;
}();

}  // namespace dequant::block
