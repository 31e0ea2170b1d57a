// The functions that unpack one block, by family, and what they share. Field positions are bytes
// from the start of the block; numbers of several bytes are little-endian.
#pragma once

#include <cstdint>
#include <cstring>

#include "block/unpack.h"
#include "element/codes.h"

namespace dequant::block {

/// An unsigned integer of type T at any alignment.
template <class T>
inline T load(const uint8_t* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// A float16 as float32.
inline float half(const uint8_t* from) noexcept {
  return float_value(Element::float16, load<uint16_t>(from));
}

/// Bits `shift` to `shift + bits - 1` of a word.
constexpr uint32_t field(uint32_t word, int shift, int bits) noexcept {
  return (word >> shift) & ((uint32_t{1} << bits) - 1);
}

/// Numbers of 4 bits: the low half of byte j is number j, the high half number j + count / 2.
inline uint32_t nibble(const uint8_t* bytes, int i, int count) noexcept {
  return field(bytes[i % (count / 2)], i < count / 2 ? 0 : 4, 4);
}

// One block of each type: unpack_Q4_0() and so on.
#define DEQUANT_BLOCK(name, ...) \
  void unpack_##name(const uint8_t* block, const UnpackedBlocks& to) noexcept;
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK

}  // namespace dequant::block
