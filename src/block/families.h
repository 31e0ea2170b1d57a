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

// One block of each type.
void unpack_Q4_0(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q4_1(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q5_0(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q5_1(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q8_0(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q8_1(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q2_K(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q3_K(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q4_K(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q5_K(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q6_K(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q8_K(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_IQ1_S(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_IQ1_M(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_IQ2_XXS(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_IQ2_XS(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_IQ2_S(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_IQ3_XXS(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_IQ3_S(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_IQ4_NL(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_IQ4_XS(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_TQ1_0(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_TQ2_0(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q1_0(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_Q2_0(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_MXFP4(const uint8_t* block, const UnpackedBlocks& to) noexcept;
void unpack_NVFP4(const uint8_t* block, const UnpackedBlocks& to) noexcept;

}  // namespace dequant::block
