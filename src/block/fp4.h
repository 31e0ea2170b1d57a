// Types whose codes are indices of a table of sixteen: float4e2m1, and the unequal steps of IQ4.
#pragma once

#include "block/codec.h"
#include "block/tables.h"

namespace dequant::block {

/// The entries of a table of sixteen, eight in a word: kernels of devices have no tables in memory.
constexpr uint64_t eight_entries(const std::array<int8_t, 16>& table, size_t first) noexcept {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i) word |= uint64_t{static_cast<uint8_t>(table[first + i])} << 8 * i;
  return word;
}

constexpr int entry(uint64_t first_eight, uint64_t last_eight, uint32_t i) noexcept {
  return static_cast<int8_t>((i < 8 ? first_eight : last_eight) >> (8 * (i % 8)) & 0xFF);
}

constexpr int twice_float4(uint32_t code) noexcept {
  constexpr uint64_t kFirst = eight_entries(kTwiceFloat4, 0);
  constexpr uint64_t kLast = eight_entries(kTwiceFloat4, 8);
  return entry(kFirst, kLast, code);
}

constexpr int unequal_step(uint32_t code) noexcept {
  constexpr uint64_t kFirst = eight_entries(kUnequalSteps, 0);
  constexpr uint64_t kLast = eight_entries(kUnequalSteps, 8);
  return entry(kFirst, kLast, code);
}

// e @0, codes @1
template <>
struct Codec<BlockType::MXFP4> {
  DEQUANT_HD static float scale(const uint8_t* block, int) noexcept {
    return half_of_e8m0(block[0]);
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return twice_float4(nibble(block + 1, i, 32));
  }
};

// scales @0, codes @4: 8 bytes for each scale
template <>
struct Codec<BlockType::NVFP4> {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    return half_of_ue4m3(block[g]);
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return twice_float4(nibble(block + 4 + i / 16 * 8, i % 16, 16));
  }
};

// d @0, codes @2
template <>
struct Codec<BlockType::IQ4_NL> : OneScale<0> {
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return unequal_step(nibble(block + 2, i, 32));
  }
};

// d @0, high 2 bits of scales @2, low 4 bits @4, codes @8: 16 bytes for each scale
template <>
struct Codec<BlockType::IQ4_XS> {
  DEQUANT_HD static float scale(const uint8_t* block, int g) noexcept {
    const auto high = load<uint16_t>(block + 2);
    const uint32_t scale = field(block[4 + g / 2], g % 2 * 4, 4) | field(high, 2 * g, 2) << 4;
    return half(block) * static_cast<float>(static_cast<int>(scale) - 32);
  }
  DEQUANT_HD static int code(const uint8_t* block, int i) noexcept {
    return unequal_step(nibble(block + 8 + i / 32 * 16, i % 32, 32));
  }
};

}  // namespace dequant::block
