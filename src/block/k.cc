// The K types: 256 codes whose groups of 16 or 32 have integer scales, which one float16 scale d
// scales in turn; some have integer minima, which dmin scales. Products with d and dmin are exact.
#include "block/families.h"

namespace dequant::block {
namespace {

constexpr int kElements = 256;

/// Code i of 2 bits. Each half of the elements has 32 bytes, of which every byte has the codes of
/// four elements 32 apart.
uint32_t code_of_2(const uint8_t* bytes, int i) noexcept {
  return field(bytes[i / 128 * 32 + i % 32], i % 128 / 32 * 2, 2);
}

/// Code i of 4 bits. Each 64 elements have 32 bytes, whose low halves are the first 32.
uint32_t code_of_4(const uint8_t* bytes, int i) noexcept {
  return nibble(bytes + i / 64 * 32, i % 64, 64);
}

/// A scale and a minimum of 6 bits.
struct ScaleAndMin {
  uint32_t scale;
  uint32_t min;
};

/// Number i of eight in 12 bytes. The first four scales and minima are the low 6 bits of bytes 0 to
/// 7, whose high 2 bits are those of the last four; bytes 8 to 11 have the low 4 bits of these.
ScaleAndMin scale_and_min(const uint8_t* bytes, int i) noexcept {
  if (i < 4) return {field(bytes[i], 0, 6), field(bytes[i + 4], 0, 6)};
  return {field(bytes[i + 4], 0, 4) | field(bytes[i - 4], 6, 2) << 4,
          field(bytes[i + 4], 4, 4) | field(bytes[i], 6, 2) << 4};
}

/// d, dmin and the 12 bytes of scale_and_min(), with which Q4_K and Q5_K begin.
void unpack_scales_and_mins(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  const float d = half(block);
  const float dmin = half(block + 2);
  for (int i = 0; i < 8; ++i) {
    const ScaleAndMin of = scale_and_min(block + 4, i);
    to.scales[i] = d * static_cast<float>(of.scale);
    to.offsets[i] = -(dmin * static_cast<float>(of.min));
  }
}

/// Scale i of sixteen of 6 bits in 12 bytes: the low 4 bits are in bytes 0 to 7, first all low
/// halves; the high 2 bits in bytes 8 to 11, first the lowest two bits of all four.
uint32_t scale_of_6(const uint8_t* bytes, int i) noexcept {
  return nibble(bytes, i, 16) | field(bytes[8 + i % 4], i / 4 * 2, 2) << 4;
}

}  // namespace

// scales (low 4 bits) and minima @0, codes @16, d @80, dmin @82
void unpack_Q2_K(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  const float d = half(block + 80);
  const float dmin = half(block + 82);
  for (int i = 0; i < 16; ++i) {
    to.scales[i] = d * static_cast<float>(field(block[i], 0, 4));
    to.offsets[i] = -(dmin * static_cast<float>(field(block[i], 4, 4)));
  }
  for (int i = 0; i < kElements; ++i) to.codes[i] = static_cast<int8_t>(code_of_2(block + 16, i));
}

// highest bits @0, low 2 bits @32, scales @96, d @108. The highest bit counts 4, from -4 on.
void unpack_Q3_K(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  const float d = half(block + 108);
  for (int i = 0; i < 16; ++i) {
    to.scales[i] = d * static_cast<float>(static_cast<int>(scale_of_6(block + 96, i)) - 32);
  }
  for (int i = 0; i < kElements; ++i) {
    const uint32_t code = code_of_2(block + 32, i) | field(block[i % 32], i / 32, 1) << 2;
    to.codes[i] = static_cast<int8_t>(static_cast<int>(code) - 4);
  }
}

// d @0, dmin @2, scales and minima @4, codes @16
void unpack_Q4_K(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  unpack_scales_and_mins(block, to);
  for (int i = 0; i < kElements; ++i) to.codes[i] = static_cast<int8_t>(code_of_4(block + 16, i));
}

// d @0, dmin @2, scales and minima @4, highest bits @16, low 4 bits @48
void unpack_Q5_K(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  unpack_scales_and_mins(block, to);
  for (int i = 0; i < kElements; ++i) {
    const uint32_t high = field(block[16 + i % 32], i / 32, 1);
    to.codes[i] = static_cast<int8_t>(code_of_4(block + 48, i) | high << 4);
  }
}

// low 4 bits @0, high 2 bits @128, scales of int8 @192, d @208
void unpack_Q6_K(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  const float d = half(block + 208);
  for (int i = 0; i < 16; ++i) {
    to.scales[i] = d * static_cast<float>(static_cast<int8_t>(block[192 + i]));
  }
  for (int i = 0; i < kElements; ++i) {
    const uint32_t low = nibble(block + i / 128 * 64, i % 128, 128);
    const uint32_t code = low | code_of_2(block + 128, i) << 4;
    to.codes[i] = static_cast<int8_t>(static_cast<int>(code) - 32);
  }
}

// d of float32 @0, codes @4, sums of codes @260
void unpack_Q8_K(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = float_value(Element::float32, load<uint32_t>(block));
  std::memcpy(to.codes, block + 4, kElements);
}

}  // namespace dequant::block
