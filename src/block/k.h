// The K types: 256 codes whose groups of 16 or 32 have integer scales, which one float16 scale d
// scales in turn; some have integer minima, which dmin scales. Products with d and dmin are exact.
#pragma once

#include "block/codec.h"

namespace dequant::block {

/// Code i of 2 bits. Each half of the elements has 32 bytes, of which every byte has the codes of
/// four elements 32 apart.
DEQUANT_HD inline uint32_t code_of_2(const uint8_t* bytes, int i) noexcept {
  return field(bytes[i / 128 * 32 + i % 32], i % 128 / 32 * 2, 2);
}

/// Code i of 4 bits. Each 64 elements have 32 bytes, whose low halves are the first 32.
DEQUANT_HD inline uint32_t code_of_4(const uint8_t* bytes, int i) noexcept {
  return nibble(bytes + i / 64 * 32, i % 64, 64);
}

/// d, dmin and 12 bytes with eight scales and minima of 6 bits, with which Q4_K and Q5_K begin. The
/// first four scales and minima are the low 6 bits of bytes 0 to 7, whose high 2 bits are those of
/// the last four; bytes 8 to 11 have the low 4 bits of these.
struct ScalesAndMins {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    const uint8_t* bytes = block + 4;
    const uint32_t scale =
        g < 4 ? field(bytes[g], 0, 6) : field(bytes[g + 4], 0, 4) | field(bytes[g - 4], 6, 2) << 4;
    return half(block) * static_cast<float>(scale);
  }
  DEQUANT_HD static float offset(const uint8_t* block, int g) noexcept {
    const uint8_t* bytes = block + 4;
    const uint32_t min =
        g < 4 ? field(bytes[g + 4], 0, 6) : field(bytes[g + 4], 4, 4) | field(bytes[g], 6, 2) << 4;
    return -(half(block + 2) * static_cast<float>(min));
  }
};

// scales (low 4 bits) and minima @0, codes @16, d @80, dmin @82
template <>
struct Codec<BlockType::Q2_K> {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    return half(block + 80) * static_cast<float>(field(block[g], 0, 4));
  }
  DEQUANT_HD static float offset(const uint8_t* block, int g) noexcept {
    return -(half(block + 82) * static_cast<float>(field(block[g], 4, 4)));
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return static_cast<int>(code_of_2(block + 16, i));
  }
};

// highest bits @0, low 2 bits @32, scales @96, d @108. The highest bit counts 4, from -4 on. Of
// the sixteen scales the low 4 bits are nibbles of the first 8 bytes; bytes 8 to 11 have the high 2
// bits, first the lowest two bits of all four.
template <>
struct Codec<BlockType::Q3_K> {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    const uint8_t* bytes = block + 96;
    const uint32_t scale = nibble(bytes, g, 16) | field(bytes[8 + g % 4], g / 4 * 2, 2) << 4;
    return half(block + 108) * static_cast<float>(static_cast<int>(scale) - 32);
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    const uint32_t code = code_of_2(block + 32, i) | field(block[i % 32], i / 32, 1) << 2;
    return static_cast<int>(code) - 4;
  }
};

// d @0, dmin @2, scales and minima @4, codes @16
template <>
struct Codec<BlockType::Q4_K> : ScalesAndMins {
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return static_cast<int>(code_of_4(block + 16, i));
  }
};

// d @0, dmin @2, scales and minima @4, highest bits @16, low 4 bits @48
template <>
struct Codec<BlockType::Q5_K> : ScalesAndMins {
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    const uint32_t high = field(block[16 + i % 32], i / 32, 1);
    return static_cast<int>(code_of_4(block + 48, i) | high << 4);
  }
};

// low 4 bits @0, high 2 bits @128, scales of int8 @192, d @208
template <>
struct Codec<BlockType::Q6_K> {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    return half(block + 208) * static_cast<float>(static_cast<int8_t>(block[192 + g]));
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    const uint32_t low = nibble(block + i / 128 * 64, i % 128, 128);
    const uint32_t code = low | code_of_2(block + 128, i) << 4;
    return static_cast<int>(code) - 32;
  }
};

// d of float32 @0, codes @4, sums of codes @260
template <>
struct Codec<BlockType::Q8_K> {
  DEQUANT_HD static float scale(const uint8_t* block, int) noexcept {
    constexpr FloatFormat kFloat32 = traits(Element::float32).format;
    return decode_float(kFloat32, load<uint32_t>(block));
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return static_cast<int8_t>(block[4 + i]);
  }
};

}  // namespace dequant::block
