// Reading single codes out of packed memory, at any alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "element/traits.h"

namespace dequant {

/// The code at index i of packed data, zero-extended.
inline uint32_t load_code(int bits, const std::byte* data, int64_t i) noexcept {
  const auto* bytes = reinterpret_cast<const uint8_t*>(data);
  switch (bits) {
    case 2: return (bytes[i >> 2] >> (2 * (i & 3))) & 3u;
    case 4: return (bytes[i >> 1] >> (4 * (i & 1))) & 15u;
    case 8: return bytes[i];
    case 16: {
      uint16_t code = 0;
      std::memcpy(&code, bytes + 2 * i, sizeof code);
      return code;
    }
    default: {
      uint32_t code = 0;
      std::memcpy(&code, bytes + 4 * i, sizeof code);
      return code;
    }
  }
}

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

}  // namespace dequant
