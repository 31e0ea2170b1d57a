// What single codes stand for.
#pragma once

#include <cstdint>

#include "dequant/codes.h"
#include "element/traits.h"

namespace dequant {

/// An integer code with its sign, as the specification counts.
inline int64_t integer_value(Element element, uint32_t code) noexcept {
  if (kind(element) == Kind::unsigned_integer) return code;
  const int unused = 32 - bits(element);
  return static_cast<int32_t>(code << unused) >> unused;
}

/// A floating-point code as float32, exact.
inline float float_value(Element element, uint32_t code) noexcept {
  return decode_float(traits(element).format, code);
}

/// True for +0 and -0 of a floating-point element.
inline bool is_zero_float(Element element, uint32_t code) noexcept {
  return float_value(element, code) == 0.0F;
}

/// True for the codes of a floating-point zero point that may be given, as it changes no x: +0,
/// and, of floats of 8 and 4 bits, whose zero points ONNX's reference leaves out, -0. It subtracts
/// those of 6 bits, and -0 - -0 is +0.
inline bool is_floating_zero_point(Element element, uint32_t code) noexcept {
  return code == 0 || (bits(element) != 6 && is_zero_float(element, code));
}

}  // namespace dequant
