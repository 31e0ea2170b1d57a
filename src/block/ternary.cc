// Types of one bit, of two bits and of ternary digits, with one float16 scale d: y = d * code.
#include "block/families.h"

namespace dequant::block {
namespace {

/// Ternary digit `place` of a byte, which is a fraction of 256: digit 0 is the most significant.
/// What is left of the byte after each digit is the low byte of the product with 3.
int8_t digit(uint8_t byte, int place) noexcept {
  uint32_t rest = byte;
  for (int i = 0; i < place; ++i) rest = rest * 3 & 0xFF;
  return static_cast<int8_t>(static_cast<int>(rest * 3 >> 8) - 1);
}

/// The digits of `bytes` bytes: first digit 0 of every byte, then digit 1 of every byte, ...
int8_t* digits(const uint8_t* from, int bytes, int places, int8_t* codes) noexcept {
  for (int place = 0; place < places; ++place) {
    for (int i = 0; i < bytes; ++i) *codes++ = digit(from[i], place);
  }
  return codes;
}

}  // namespace

// 32 bytes of five digits @0, 16 of five @32, 4 of four @48, d @52
void unpack_TQ1_0(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = half(block + 52);
  int8_t* codes = digits(block, 32, 5, to.codes);
  codes = digits(block + 32, 16, 5, codes);
  digits(block + 48, 4, 4, codes);
}

// codes @0, d @64. A byte has the codes of four elements 32 apart.
void unpack_TQ2_0(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = half(block + 64);
  for (int i = 0; i < 256; ++i) {
    const uint32_t code = field(block[i / 128 * 32 + i % 32], i % 128 / 32 * 2, 2);
    to.codes[i] = static_cast<int8_t>(static_cast<int>(code) - 1);
  }
}

// d @0, bits @2: 1 is d, 0 is -d
void unpack_Q1_0(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = half(block);
  for (int i = 0; i < 128; ++i) {
    to.codes[i] = static_cast<int8_t>(field(block[2 + i / 8], i % 8, 1) != 0 ? 1 : -1);
  }
}

// d @0, codes @2, four to a byte
void unpack_Q2_0(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = half(block);
  for (int i = 0; i < 64; ++i) {
    const uint32_t code = field(block[2 + i / 4], i % 4 * 2, 2);
    to.codes[i] = static_cast<int8_t>(static_cast<int>(code) - 1);
  }
}

}  // namespace dequant::block
