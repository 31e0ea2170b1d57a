// Fields of blocks. Positions are bytes from the start of the block; numbers of several bytes are
// little-endian.
#pragma once

#include <cstdint>
#include <cstring>

#include "element/traits.h"
#include "host_device.h"

namespace dequant::block {

/// An unsigned integer of type T at any alignment.
template <class T>
DEQUANT_HD inline T load(const uint8_t* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The value of the bits of a float16.
constexpr float value_of_half(uint32_t bits) noexcept {
  constexpr FloatFormat kFloat16 = traits(Element::float16).format;
  return decode_float(kFloat16, bits);
}

/// A float16 as float32.
DEQUANT_HD inline float half(const uint8_t* from) noexcept {
  return value_of_half(load<uint16_t>(from));
}

/// Bits `shift` to `shift + bits - 1` of a word.
constexpr uint32_t field(uint32_t word, int shift, int bits) noexcept {
  return (word >> shift) & ((uint32_t{1} << bits) - 1);
}

/// Numbers of 4 bits: the low half of byte j is number j, the high half number j + count / 2.
DEQUANT_HD inline uint32_t nibble(const uint8_t* bytes, int i, int count) noexcept {
  return field(bytes[i % (count / 2)], i < count / 2 ? 0 : 4, 4);
}

/// The same, as int.
DEQUANT_HD inline int signed_nibble(const uint8_t* bytes, int i, int count) noexcept {
  return static_cast<int>(nibble(bytes, i, count));
}

}  // namespace dequant::block
