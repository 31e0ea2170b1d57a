// Vectors of block::Codec of the IQ types with grids, see block/iq.h.
#pragma once

#include "block/grids.h"
#include "cuda/thread/block_vectors.h"

namespace dequant::cuda {

/// Eight signs of which seven are stored: the number of negative ones is even.
DEQUANT_HD inline uint32_t signs_of_seven(uint32_t seven) noexcept {
#if defined(__CUDA_ARCH__)
  const auto negative = static_cast<uint32_t>(__popc(seven));
#else
  const auto negative = static_cast<uint32_t>(std::popcount(seven));
#endif
  return seven | (negative & 1) << 7;
}

/// Bytes with 128 plus four magnitudes, or less them where a bit of `signs` is set. Magnitudes are
/// 1 to 127: the complement of 128 + m is 127 - m.
DEQUANT_HD inline uint32_t with_signs(uint32_t magnitudes, uint32_t signs) noexcept {
  const uint32_t ones = spread_bits(signs);
  return (magnitudes ^ 0x80808080 ^ ones * 0xFF) + ones;
}

/// kCount coordinates of a point from element i on, with signs of which the lowest is that of the
/// point's first coordinate.
template <int kCount>
DEQUANT_HD inline Vector<float, kCount> signed_point(uint64_t point, uint32_t signs,
                                                     int i) noexcept {
  const auto low = static_cast<uint32_t>(point), high = static_cast<uint32_t>(point >> 32);
  Bytes<kCount> bytes;
  if constexpr (kCount == 4) {
    bytes[0] = with_signs((i & 4) == 0 ? low : high, signs >> (i & 4));
  } else {
    bytes[0] = with_signs(low, signs);
    bytes[1] = with_signs(high, signs >> 4);
  }
  return floats_of_bytes<kCount>(bytes, 128);
}

/// The same of points of four coordinates; point_of(j) is that of elements i + 4 * j on, and
/// `signs` are those from element i on.
template <int kCount, class PointOf>
DEQUANT_HD inline Vector<float, kCount> signed_points(const PointOf& point_of,
                                                      uint32_t signs) noexcept {
  Bytes<kCount> bytes;
  for (int j = 0; j < kCount / 4; ++j) bytes[j] = with_signs(point_of(j), signs >> (4 * j));
  return floats_of_bytes<kCount>(bytes, 128);
}

/// Coordinates of a point of IQ1 in eighths, one eighth lower or higher.
template <int kCount>
DEQUANT_HD inline Vector<float, kCount> shifted_point(uint64_t point, bool down, int i) noexcept {
  const auto low = static_cast<uint32_t>(point), high = static_cast<uint32_t>(point >> 32);
  Bytes<kCount> bytes;
  if constexpr (kCount == 4) {
    bytes[0] = (i & 4) == 0 ? low : high;
  } else {
    bytes = {low, high};
  }
  for (int j = 0; j < kCount / 4; ++j) bytes[j] ^= 0x80808080;
  return floats_of_bytes<kCount>(bytes, down ? 129.0F : 127.0F);
}

/// d * (number + 1/2) * factor.
DEQUANT_HD inline float scale_between(float d, uint32_t number, float factor) noexcept {
  return d * small_float(number, -0.5F) * factor;
}

/// d * (2 * number + 1).
DEQUANT_HD inline float odd_scale(float d, uint32_t number) noexcept {
  return d * small_float(2 * number + 1);
}

/// The scale of 4 bits of a group of which two share a byte.
DEQUANT_HD inline uint32_t nibble_of(const uint8_t* bytes, int g) noexcept {
  return static_cast<uint32_t>(bytes[g / 2]) >> (g % 2 * 4) & 15;
}

template <>
struct BlockVectors<BlockType::IQ2_XXS> {
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    const uint32_t word = load_aligned_word<2>(block + 6 + i / 32 * 8);
    return scale_between(half_at(block), word >> 28, 0.25F);
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const uint8_t* part = block + 2 + i / 32 * 8;
    const int eight = i % 32 / 8;
    const uint32_t seven = load_aligned_word<2>(part + 4) >> (eight * 7) & 0x7F;
    return signed_point<kCount>(block::grid_iq2_xxs(part[eight]), signs_of_seven(seven), i);
  }
};

template <>
struct BlockVectors<BlockType::IQ2_XS> {
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    return scale_between(half_at(block), nibble_of(block + 66, i / 16), 0.25F);
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const uint32_t word = load_half_word(block + 2 + i / 8 * 2);
    return signed_point<kCount>(block::grid_iq2_xs(word & 0x1FF), signs_of_seven(word >> 9), i);
  }
};

template <>
struct BlockVectors<BlockType::IQ2_S> {
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    return scale_between(half_at(block), nibble_of(block + 74, i / 16), 0.25F);
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const int eight = i / 8;
    const uint32_t high = static_cast<uint32_t>(block[66 + eight / 4]) >> (eight % 4 * 2) & 3;
    return signed_point<kCount>(block::grid_iq2_s(block[2 + eight] | high << 8), block[34 + eight],
                                i);
  }
};

template <>
struct BlockVectors<BlockType::IQ3_XXS> {
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    const uint32_t word = load_aligned_word<2>(block + 66 + i / 32 * 4);
    return scale_between(half_at(block), word >> 28, 0.5F);
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const uint32_t word = load_aligned_word<2>(block + 66 + i / 32 * 4);
    const uint32_t signs = signs_of_seven(word >> (i % 32 / 8 * 7) & 0x7F);
    const uint8_t* indices = block + 2 + i / 4;
    return signed_points<kCount>([&](int j) { return block::grid_iq3_xxs(indices[j]); },
                                 signs >> (i & 4));
  }
};

template <>
struct BlockVectors<BlockType::IQ3_S> {
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    return odd_scale(half_at(block), nibble_of(block + 106, i / 32));
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const int four = i / 4;
    const uint32_t high = static_cast<uint32_t>(block[66 + four / 8]) << (8 - four % 8);
    const auto point_of = [&](int j) {
      return block::grid_iq3_s(block[2 + four + j] | (high >> j & 0x100));
    };
    return signed_points<kCount>(point_of, static_cast<uint32_t>(block[74 + i / 8]) >> (i & 4));
  }
};

template <>
struct BlockVectors<BlockType::IQ1_S> {
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    const uint32_t word = load_half_word(block + 34 + i / 32 * 2);
    return odd_scale(half_at(block), word >> 12 & 7) * 0.125F;
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const int eight = i / 8;
    const uint32_t word = load_half_word(block + 34 + i / 32 * 2);
    const uint32_t index = block[2 + eight] | (word >> (eight % 4 * 3) & 7) << 8;
    return shifted_point<kCount>(block::grid_iq1(index), (word & 0x8000) != 0, i);
  }
};

template <>
struct BlockVectors<BlockType::IQ1_M> {
  DEQUANT_HD static float scale(const uint8_t* block, int i) noexcept {
    const Bytes<8> words = load_bytes<8, 8>(block + 48);
    const uint32_t d = (words[0] >> 12 & 0xF) | (words[0] >> 24 & 0xF0) | (words[1] >> 4 & 0xF00) |
                       (words[1] >> 16 & 0xF000);
    const uint32_t word = i < 128 ? words[0] : words[1];
    const int shift = (i & 64) / 4 + i / 16 % 4 * 3;
    return odd_scale(widen_float16(d), word >> shift & 7) * 0.125F;
  }
  template <int kCount>
  DEQUANT_HD static Vector<float, kCount> codes(const uint8_t* block, int i) noexcept {
    const int eight = i / 8;
    const uint32_t high = nibble_of(block + 32, eight);
    const uint32_t index = block[eight] | (high & 7) << 8;
    return shifted_point<kCount>(block::grid_iq1(index), (high & 8) != 0, i);
  }
};

}  // namespace dequant::cuda
