// The floating-point formats by their published definition, in double: what the decoder and the
// encoder of the library are compared with. Nothing here comes from elements.def.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "dequant/element.h"

namespace dequant::testing {

/// Codes and values of the documentation's table; `nan` and `infinity` are codes without the sign
/// bit, but for the fnuz types, whose one NaN is the code of -0.
struct FloatDefinition {
  Element element;
  int bits;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool negative_zero_is_nan;
  uint32_t first_nan;  ///< smallest NaN among codes without sign; above every code if there is none
  uint32_t infinity;   ///< above every code if there is none
};

inline constexpr uint32_t kNoCode = 0xFFFFFFFF;

inline constexpr FloatDefinition kSmallFloats[] = {
    {Element::float8e4m3fn, 8, 4, 3, 7, false, 0x7F, kNoCode},
    {Element::float8e4m3fnuz, 8, 4, 3, 8, true, kNoCode, kNoCode},
    {Element::float8e5m2, 8, 5, 2, 15, false, 0x7D, 0x7C},
    {Element::float8e5m2fnuz, 8, 5, 2, 16, true, kNoCode, kNoCode},
    {Element::float4e2m1, 4, 2, 1, 1, false, kNoCode, kNoCode},
    {Element::float6e2m3, 6, 2, 3, 1, false, kNoCode, kNoCode},
    {Element::float6e3m2, 6, 3, 2, 3, false, kNoCode, kNoCode},
    {Element::float16, 16, 5, 10, 15, false, 0x7C01, 0x7C00},
    {Element::bfloat16, 16, 8, 7, 127, false, 0x7F81, 0x7F80},
};

/// (-1)^sign * 2^(exponent - bias) * 1.mantissa, or 0.mantissa at the lowest exponent.
inline double defined_value(const FloatDefinition& f, uint32_t code) {
  const uint32_t sign = uint32_t{1} << (f.bits - 1);
  const uint32_t magnitude = code & (sign - 1);
  if (f.negative_zero_is_nan && code == sign) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude >= f.first_nan) return std::numeric_limits<double>::quiet_NaN();

  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const double fraction = std::ldexp(magnitude % (1u << f.mantissa_bits), -f.mantissa_bits);
  double value = exponent == 0 ? std::ldexp(fraction, 1 - f.bias)
                               : std::ldexp(1 + fraction, exponent - f.bias);
  if (magnitude == f.infinity) value = std::numeric_limits<double>::infinity();
  return (code & sign) != 0 ? -value : value;
}

/// The values of the codes from 0 to infinity of float16 or bfloat16, in order. Infinity is given
/// the value that the next code would have: results beyond the midpoint to it become infinite.
inline std::vector<double> ascending_values(const FloatDefinition& f) {
  std::vector<double> values;
  for (uint32_t code = 0; code < f.infinity; ++code) values.push_back(defined_value(f, code));
  values.push_back(std::ldexp(1.0, (1 << f.exponent_bits) - 1 - f.bias));
  return values;
}

inline const FloatDefinition& definition_of(Element element) {
  for (const FloatDefinition& f : kSmallFloats) {
    if (f.element == element) return f;
  }
  return kSmallFloats[0];
}

}  // namespace dequant::testing
