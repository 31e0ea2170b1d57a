// Packed codes, written and read one bit position at a time: slow, and independent of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dequant/element.h"
#include "support/random.h"

namespace dequant::testing {

using Bytes = std::vector<std::byte>;

inline size_t bytes_for(Element element, int64_t count) {
  return static_cast<size_t>((count * bits(element) + 7) / 8);
}

/// The code at index i: `bits` consecutive bits from bit `i * bits` on, lowest first.
inline uint32_t code_at(Element element, const Bytes& data, int64_t i) {
  uint32_t code = 0;
  for (int b = 0; b < bits(element); ++b) {
    const int64_t at = i * bits(element) + b;
    const auto byte = static_cast<uint32_t>(data[static_cast<size_t>(at / 8)]);
    code |= ((byte >> (at % 8)) & 1u) << b;
  }
  return code;
}

/// Codes packed as ONNX packs them; unused bits of the last byte are zero.
inline Bytes pack(Element element, const std::vector<uint32_t>& codes) {
  Bytes data(bytes_for(element, static_cast<int64_t>(codes.size())));
  for (size_t i = 0; i < codes.size(); ++i) {
    for (int b = 0; b < bits(element); ++b) {
      const size_t at = i * static_cast<size_t>(bits(element)) + static_cast<size_t>(b);
      if (((codes[i] >> b) & 1u) != 0) data[at / 8] |= std::byte{1} << (at % 8);
    }
  }
  return data;
}

inline Bytes random_bytes(Random& random, size_t count) {
  Bytes bytes(count);
  random.fill(bytes);
  return bytes;
}

}  // namespace dequant::testing
