// The values of single codes.
#pragma once

#include <cstdint>

#include "dequant/codes.h"
#include "element/traits.h"

namespace dequant {

/// The value of an integer code. Codes of signed integers are in two's complement.
inline int64_t integer_value(Element element, uint32_t code) noexcept {
  if (kind(element) == Kind::unsigned_integer) return code;
  const int unused = 32 - bits(element);
  return static_cast<int32_t>(code << unused) >> unused;
}

/// The value of a floating-point code, exact in float32.
inline float float_value(Element element, uint32_t code) noexcept {
  return decode_float(traits(element).format, code);
}

/// True for +0 and -0 of a floating-point element.
inline bool is_zero_float(Element element, uint32_t code) noexcept {
  return float_value(element, code) == 0.0F;
}

/// True for the codes of floating-point zero points that are allowed because they change no x: +0,
/// and, for floats of 8 and 4 bits, -0. ONNX's reference does not subtract the zero points of 8-bit
/// and 4-bit floats. ONNX's reference subtracts the zero points of 6-bit floats, and -0 - -0 is +0.
inline bool is_floating_zero_point(Element element, uint32_t code) noexcept {
  return code == 0 || (bits(element) != 6 && is_zero_float(element, code));
}

}  // namespace dequant
