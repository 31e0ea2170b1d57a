// Types of 4, 5 and 8 bits with one float16 scale d in a block of 32: y = d * code, or
// y = d * code + m.
#include "block/families.h"

namespace dequant::block {
namespace {

constexpr int kElements = 32;

/// Codes of 4 bits less `zero`.
void codes_of_4(const uint8_t* bytes, int zero, int8_t* codes) noexcept {
  for (int i = 0; i < kElements; ++i) {
    codes[i] = static_cast<int8_t>(static_cast<int>(nibble(bytes, i, kElements)) - zero);
  }
}

/// Codes of 5 bits less `zero`; bit i of the word at `high` is the highest of code i.
void codes_of_5(const uint8_t* bytes, const uint8_t* high, int zero, int8_t* codes) noexcept {
  const auto bits = load<uint32_t>(high);
  for (int i = 0; i < kElements; ++i) {
    const uint32_t code = nibble(bytes, i, kElements) | field(bits, i, 1) << 4;
    codes[i] = static_cast<int8_t>(static_cast<int>(code) - zero);
  }
}

}  // namespace

// d @0, codes @2
void unpack_Q4_0(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = half(block);
  codes_of_4(block + 2, 8, to.codes);
}

// d @0, m @2, codes @4
void unpack_Q4_1(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = half(block);
  to.offsets[0] = half(block + 2);
  codes_of_4(block + 4, 0, to.codes);
}

// d @0, highest bits @2, codes @6
void unpack_Q5_0(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = half(block);
  codes_of_5(block + 6, block + 2, 16, to.codes);
}

// d @0, m @2, highest bits @4, codes @8
void unpack_Q5_1(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = half(block);
  to.offsets[0] = half(block + 2);
  codes_of_5(block + 8, block + 4, 0, to.codes);
}

// d @0, codes @2
void unpack_Q8_0(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = half(block);
  std::memcpy(to.codes, block + 2, kElements);
}

// d @0, d times the sum of the codes @2, codes @4
void unpack_Q8_1(const uint8_t* block, const UnpackedBlocks& to) noexcept {
  to.scales[0] = half(block);
  std::memcpy(to.codes, block + 4, kElements);
}

}  // namespace dequant::block
