// Types of one bit, of two bits and of ternary digits, with one float16 scale d: y = d * code.
#pragma once

#include "block/codec.h"

namespace dequant::block {

/// Ternary digit `place` of a byte, which is a fraction of 256: digit 0 is the most significant.
/// What is left of the byte after each digit is the low byte of the product with 3.
constexpr int ternary_digit(uint8_t byte, int place) noexcept {
  uint32_t rest = byte;
  for (int i = 0; i < place; ++i) rest = rest * 3 & 0xFF;
  return static_cast<int>(rest * 3 >> 8) - 1;
}

// 32 bytes of five digits @0, 16 of five @32, 4 of four @48, d @52. First digit 0 of each of these
// bytes, then digit 1 of each, ...
template <>
struct Codec<BlockType::TQ1_0> : OneScale<52> {
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    if (i < 160) return ternary_digit(block[i % 32], i / 32);
    if (i < 240) return ternary_digit(block[32 + (i - 160) % 16], (i - 160) / 16);
    return ternary_digit(block[48 + i % 4], (i - 240) / 4);
  }
};

// codes @0, d @64. A byte has the codes of four elements 32 apart.
template <>
struct Codec<BlockType::TQ2_0> : OneScale<64> {
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return static_cast<int>(field(block[i / 128 * 32 + i % 32], i % 128 / 32 * 2, 2)) - 1;
  }
};

// d @0, bits @2: 1 is d, 0 is -d
template <>
struct Codec<BlockType::Q1_0> : OneScale<0> {
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return field(block[2 + i / 8], i % 8, 1) != 0 ? 1 : -1;
  }
};

// d @0, codes @2, four to a byte
template <>
struct Codec<BlockType::Q2_0> : OneScale<0> {
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return static_cast<int>(field(block[2 + i / 4], i % 4 * 2, 2)) - 1;
  }
};

}  // namespace dequant::block
