// The IQ types with grids: an index for eight or four neighbours names their magnitudes, and signs
// are apart. d is a float16. All scales are exact.
#include <bit>

#include "block/families.h"
#include "block/grids.h"

namespace dequant::block {
namespace {

/// The coordinates of a point, negative where the bit of `signs` is set.
template <class Point>
void put(Point point, uint32_t signs, int8_t* codes) noexcept {
  for (size_t i = 0; i < sizeof point; ++i) {
    const auto magnitude = static_cast<int>(point >> (8 * i) & 0xFF);
    codes[i] = static_cast<int8_t>((signs >> i & 1) != 0 ? -magnitude : magnitude);
  }
}

/// Eight signs of which seven are stored: the number of negative ones is even.
uint32_t eight_signs(uint32_t seven) noexcept {
  return seven | static_cast<uint32_t>(std::popcount(seven) % 2) << 7;
}

/// d * (number + 1/2) * factor.
float scale_between(float d, uint32_t number, float factor) noexcept {
  return d * (0.5F + static_cast<float>(number)) * factor;
}

/// Two scales of 4 bits each, for 16 elements each.
void two_scales(float d, uint8_t numbers, float* scales) noexcept {
  scales[0] = scale_between(d, field(numbers, 0, 4), 0.25F);
  scales[1] = scale_between(d, field(numbers, 4, 4), 0.25F);
}

/// An odd scale, of 3 bits in IQ1: d * (2 * number + 1).
float odd_scale(float d, uint32_t number) noexcept {
  return d * static_cast<float>(2 * number + 1);
}

/// A point of IQ1, shifted by 1/8: elements are eighths, so that the scale is an eighth.
void put_shifted(uint32_t index, bool down, int8_t* codes) noexcept {
  const uint64_t point = kGridIQ1[index];
  for (int i = 0; i < 8; ++i) {
    const int eighths = static_cast<int8_t>(point >> (8 * i) & 0xFF);
    codes[i] = static_cast<int8_t>(down ? eighths - 1 : eighths + 1);
  }
}

}  // namespace

// d @0, then 8 bytes for 32 elements: four indices of 8 bits; four signs of 7 bits, a scale of 4
void unpack_IQ2_XXS(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  const float d = half(block);
  for (int i = 0; i < 32; ++i) {
    const uint8_t* part = block + 2 + i / 4 * 8;
    const auto word = load<uint32_t>(part + 4);
    if (i % 4 == 0) to.scales[i / 4] = scale_between(d, field(word, 28, 4), 0.25F);
    put(kGridIQ2_XXS[part[i % 4]], eight_signs(field(word, i % 4 * 7, 7)), to.codes + 8 * i);
  }
}

// d @0, 16 bits for eight elements @2: an index of 9 bits and signs of 7; scales of 4 bits @66
void unpack_IQ2_XS(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  const float d = half(block);
  for (int i = 0; i < 8; ++i) two_scales(d, block[66 + i], to.scales + 2 * i);
  for (int i = 0; i < 32; ++i) {
    const auto word = load<uint16_t>(block + 2 + 2 * i);
    put(kGridIQ2_XS[field(word, 0, 9)], eight_signs(field(word, 9, 7)), to.codes + 8 * i);
  }
}

// d @0, low 8 bits of indices @2, signs @34, high 2 bits of indices @66, scales of 4 bits @74
void unpack_IQ2_S(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  const float d = half(block);
  for (int i = 0; i < 8; ++i) two_scales(d, block[74 + i], to.scales + 2 * i);
  for (int i = 0; i < 32; ++i) {
    const uint32_t index = block[2 + i] | field(block[66 + i / 4], i % 4 * 2, 2) << 8;
    put(kGridIQ2_S[index], block[34 + i], to.codes + 8 * i);
  }
}

// d @0, indices for four elements @2, words for 32 elements @66: four signs of 7 bits, a scale of 4
void unpack_IQ3_XXS(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  const float d = half(block);
  for (int i = 0; i < 64; ++i) {
    const auto word = load<uint32_t>(block + 66 + i / 8 * 4);
    if (i % 8 == 0) to.scales[i / 8] = scale_between(d, field(word, 28, 4), 0.5F);
    const uint32_t signs = eight_signs(field(word, i % 8 / 2 * 7, 7));
    put(kGridIQ3_XXS[block[2 + i]], signs >> (i % 2 * 4), to.codes + 4 * i);
  }
}

// d @0, low 8 bits of indices @2, highest bits @66, signs @74, scales of 4 bits @106
void unpack_IQ3_S(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  const float d = half(block);
  for (int i = 0; i < 8; ++i) {
    to.scales[i] = odd_scale(d, field(block[106 + i / 2], i % 2 * 4, 4));
  }
  for (int i = 0; i < 64; ++i) {
    const uint32_t index = block[2 + i] | field(block[66 + i / 8], i % 8, 1) << 8;
    put(kGridIQ3_S[index], field(block[74 + i / 2], i % 2 * 4, 4), to.codes + 4 * i);
  }
}

// d @0, low 8 bits of indices @2, words of 16 bits @34: four times 3 high bits of an index, a scale
// of 3 bits, the sign of the shift
void unpack_IQ1_S(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  const float d = half(block);
  for (int i = 0; i < 32; ++i) {
    const auto word = load<uint16_t>(block + 34 + i / 4 * 2);
    if (i % 4 == 0) to.scales[i / 4] = odd_scale(d, field(word, 12, 3)) * 0.125F;
    const uint32_t index = block[2 + i] | field(word, i % 4 * 3, 3) << 8;
    put_shifted(index, field(word, 15, 1) != 0, to.codes + 8 * i);
  }
}

// low 8 bits of indices @0, 4 bits for each index @32: its high 3 bits and the sign of the shift;
// four words of 16 bits @48: four scales of 3 bits, and 4 bits of d, the lowest first
void unpack_IQ1_M(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  uint32_t d_bits = 0;
  for (int i = 0; i < 4; ++i) d_bits |= field(load<uint16_t>(block + 48 + 2 * i), 12, 4) << (4 * i);
  const float d = float_value(Element::float16, d_bits);
  for (int i = 0; i < 16; ++i) {
    const auto word = load<uint16_t>(block + 48 + i / 4 * 2);
    to.scales[i] = odd_scale(d, field(word, i % 4 * 3, 3)) * 0.125F;
  }
  for (int i = 0; i < 32; ++i) {
    const uint32_t high = field(block[32 + i / 2], i % 2 * 4, 4);
    put_shifted(block[i] | field(high, 0, 3) << 8, field(high, 3, 1) != 0, to.codes + 8 * i);
  }
}

}  // namespace dequant::block
