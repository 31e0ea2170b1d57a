// The IQ types with grids: an index for eight or four neighbours names their magnitudes, and signs
// are apart. d is a float16. All scales are exact.
#pragma once

#include <bit>

#include "block/codec.h"
#include "block/grids.h"

namespace dequant::block {

/// Coordinate i of a point.
template <class Point>
constexpr int coordinate(Point point, int i) noexcept {
  return static_cast<int>(point >> (8 * i) & 0xFF);
}

/// Coordinate i of a point, negative where bit i of `signs` is set.
template <class Point>
constexpr int with_sign(Point point, uint32_t signs, int i) noexcept {
  const int magnitude = coordinate(point, i);
  return (signs >> i & 1) != 0 ? -magnitude : magnitude;
}

/// Eight signs of which seven are stored: the number of negative ones is even.
constexpr uint32_t eight_signs(uint32_t seven) noexcept {
  uint32_t parity = seven ^ seven >> 4;
  parity ^= parity >> 2;
  return seven | ((parity ^ parity >> 1) & 1) << 7;
}

/// d * (number + 1/2) * factor.
constexpr float scale_between(float d, uint32_t number, float factor) noexcept {
  return d * (0.5F + static_cast<float>(number)) * factor;
}

/// An odd scale, of 3 bits in IQ1: d * (2 * number + 1).
constexpr float odd_scale(float d, uint32_t number) noexcept {
  return d * static_cast<float>(2 * number + 1);
}

/// Coordinate i of a point of IQ1, shifted by 1/8: elements are eighths, so that the scale is an
/// eighth.
DEQUANT_HD inline int shifted(uint32_t index, bool down, int i) noexcept {
  const int eighths = static_cast<int8_t>(coordinate(grid_iq1(index), i));
  return down ? eighths - 1 : eighths + 1;
}

// d @0, then 8 bytes for 32 elements: four indices of 8 bits; four signs of 7 bits, a scale of 4
template <>
struct Codec<BlockType::IQ2_XXS> {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    return scale_between(half(block), field(load<uint32_t>(block + 6 + g * 8), 28, 4), 0.25F);
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    const uint8_t* part = block + 2 + i / 32 * 8;
    const int eight = i % 32 / 8;
    const uint32_t signs = eight_signs(field(load<uint32_t>(part + 4), eight * 7, 7));
    return with_sign(grid_iq2_xxs(part[eight]), signs, i % 8);
  }
};

// d @0, 16 bits for eight elements @2: an index of 9 bits and signs of 7; scales of 4 bits @66
template <>
struct Codec<BlockType::IQ2_XS> {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    return scale_between(half(block), field(block[66 + g / 2], g % 2 * 4, 4), 0.25F);
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    const auto word = load<uint16_t>(block + 2 + i / 8 * 2);
    return with_sign(grid_iq2_xs(field(word, 0, 9)), eight_signs(field(word, 9, 7)), i % 8);
  }
};

// d @0, low 8 bits of indices @2, signs @34, high 2 bits of indices @66, scales of 4 bits @74
template <>
struct Codec<BlockType::IQ2_S> {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    return scale_between(half(block), field(block[74 + g / 2], g % 2 * 4, 4), 0.25F);
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    const int eight = i / 8;
    const uint32_t high = field(block[66 + eight / 4], eight % 4 * 2, 2);
    return with_sign(grid_iq2_s(block[2 + eight] | high << 8), block[34 + eight], i % 8);
  }
};

// d @0, indices for four elements @2, words for 32 elements @66: four signs of 7 bits, a scale of 4
template <>
struct Codec<BlockType::IQ3_XXS> {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    return scale_between(half(block), field(load<uint32_t>(block + 66 + g * 4), 28, 4), 0.5F);
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    const auto word = load<uint32_t>(block + 66 + i / 32 * 4);
    const uint32_t signs = eight_signs(field(word, i % 32 / 8 * 7, 7));
    return with_sign(grid_iq3_xxs(block[2 + i / 4]), signs >> (i / 4 % 2 * 4), i % 4);
  }
};

// d @0, low 8 bits of indices @2, highest bits @66, signs @74, scales of 4 bits @106
template <>
struct Codec<BlockType::IQ3_S> {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    return odd_scale(half(block), field(block[106 + g / 2], g % 2 * 4, 4));
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    const int four = i / 4;
    const uint32_t index = block[2 + four] | field(block[66 + four / 8], four % 8, 1) << 8;
    return with_sign(grid_iq3_s(index), field(block[74 + four / 2], four % 2 * 4, 4), i % 4);
  }
};

// d @0, low 8 bits of indices @2, words of 16 bits @34: four times 3 high bits of an index, a scale
// of 3 bits, the sign of the shift
template <>
struct Codec<BlockType::IQ1_S> {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    return odd_scale(half(block), field(load<uint16_t>(block + 34 + g * 2), 12, 3)) * 0.125F;
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    const int eight = i / 8;
    const auto word = load<uint16_t>(block + 34 + eight / 4 * 2);
    const uint32_t index = block[2 + eight] | field(word, eight % 4 * 3, 3) << 8;
    return shifted(index, field(word, 15, 1) != 0, i % 8);
  }
};

// low 8 bits of indices @0, 4 bits for each index @32: its high 3 bits and the sign of the shift;
// four words of 16 bits @48: four scales of 3 bits, and 4 bits of d, the lowest first
template <>
struct Codec<BlockType::IQ1_M> {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    uint32_t d = 0;
    for (int i = 0; i < 4; ++i) d |= field(load<uint16_t>(block + 48 + 2 * i), 12, 4) << (4 * i);
    const auto word = load<uint16_t>(block + 48 + g / 4 * 2);
    return odd_scale(value_of_half(d), field(word, g % 4 * 3, 3)) * 0.125F;
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    const int eight = i / 8;
    const uint32_t high = field(block[32 + eight / 2], eight % 2 * 4, 4);
    return shifted(block[eight] | field(high, 0, 3) << 8, field(high, 3, 1) != 0, i % 8);
  }
};

}  // namespace dequant::block
