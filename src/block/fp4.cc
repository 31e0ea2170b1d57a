// Types whose codes are indices of a table of sixteen: float4e2m1, and the unequal steps of IQ4.
#include "block/families.h"
#include "block/tables.h"

namespace dequant::block {
namespace {

/// The values of `count` codes of 4 bits.
void look_up(const uint8_t* bytes, int count, const int8_t* table, int8_t* codes) noexcept {
  for (int i = 0; i < count; ++i) codes[i] = table[nibble(bytes, i, count)];
}

}  // namespace

// e @0, codes @1
void unpack_MXFP4(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = half_of_e8m0(block[0]);
  look_up(block + 1, 32, kTwiceFloat4.data(), to.codes);
}

// scales @0, codes @4: 8 bytes for each scale
void unpack_NVFP4(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  for (int i = 0; i < 4; ++i) {
    to.scales[i] = half_of_ue4m3(block[i]);
    look_up(block + 4 + 8 * i, 16, kTwiceFloat4.data(), to.codes + 16 * i);
  }
}

// d @0, codes @2
void unpack_IQ4_NL(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = half(block);
  look_up(block + 2, 32, kUnequalSteps.data(), to.codes);
}

// d @0, high 2 bits of scales @2, low 4 bits @4, codes @8: 16 bytes for each scale
void unpack_IQ4_XS(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  const float d = half(block);
  const auto high = load<uint16_t>(block + 2);
  for (int i = 0; i < 8; ++i) {
    const uint32_t scale = field(block[4 + i / 2], i % 2 * 4, 4) | field(high, 2 * i, 2) << 4;
    to.scales[i] = d * static_cast<float>(static_cast<int>(scale) - 32);
    look_up(block + 8 + 16 * i, 32, kUnequalSteps.data(), to.codes + 32 * i);
  }
}

}  // namespace dequant::block
