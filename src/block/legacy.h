// Types of 4, 5 and 8 bits with one float16 scale d in a block of 32: y = d * code, or
// y = d * code + m.
#pragma once

#include "block/codec.h"

namespace dequant::block {

/// A code of 5 bits; bit i of the word at `high` is the highest of code i.
DEQUANT_HD inline int code_of_5(const uint8_t* bytes, const uint8_t* high, int i) noexcept {
  return static_cast<int>(nibble(bytes, i, 32) | field(load<uint32_t>(high), i, 1) << 4);
}

// d @0, codes @2
template <>
struct Codec<BlockType::Q4_0> : OneScale<0> {
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return signed_nibble(block + 2, i, 32) - 8;
  }
};

// d @0, m @2, codes @4
template <>
struct Codec<BlockType::Q4_1> : OneScale<0> {
  DEQUANT_HD static float offset(const uint8_t* block, int) noexcept { return half(block + 2); }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return signed_nibble(block + 4, i, 32);
  }
};

// d @0, highest bits @2, codes @6
template <>
struct Codec<BlockType::Q5_0> : OneScale<0> {
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return code_of_5(block + 6, block + 2, i) - 16;
  }
};

// d @0, m @2, highest bits @4, codes @8
template <>
struct Codec<BlockType::Q5_1> : OneScale<0> {
  DEQUANT_HD static float offset(const uint8_t* block, int) noexcept { return half(block + 2); }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return code_of_5(block + 8, block + 4, i);
  }
};

// d @0, codes @2
template <>
struct Codec<BlockType::Q8_0> : OneScale<0> {
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return static_cast<int8_t>(block[2 + i]);
  }
};

// d @0, d times the sum of the codes @2, codes @4
template <>
struct Codec<BlockType::Q8_1> : OneScale<0> {
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return static_cast<int8_t>(block[4 + i]);
  }
};

}  // namespace dequant::block
