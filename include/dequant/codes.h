// Reading and writing packed codes: a stream of bits in which the code at index i has the bits from
// i * width on, the lowest first; bit k of the stream is bit k % 8 of byte k / 8. So codes of 8, 16
// and 32 bits are little-endian, and narrower codes may begin in one byte and end in the next: four
// codes of 6 bits have three bytes. This is how ONNX packs raw_data (onnx.proto), and how GPTQ
// packs codes of 3 bits into words of 32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dequant/element.h"
#include "dequant/export.h"
#include "dequant/status.h"

namespace dequant {

/// True for the widths that codes may have: 1 to 8, 16 and 32 bits.
constexpr bool is_code_width(int width) noexcept {
  return (width >= 1 && width <= 8) || width == 16 || width == 32;
}

/// The code at `index`, zero-extended. Nothing is checked: is_code_width(width) holds, and
/// `packed`, of any alignment, holds ceil((index + 1) * width / 8) bytes, of which no other is
/// read.
inline uint32_t load_code(int width, const std::byte* packed, int64_t index) noexcept {
  const auto* bytes = reinterpret_cast<const uint8_t*>(packed);
  if (width == 8) return bytes[index];
  if (width == 16) {
    uint16_t code = 0;
    std::memcpy(&code, bytes + index * 2, sizeof code);
    return code;
  }
  if (width == 32) {
    uint32_t code = 0;
    std::memcpy(&code, bytes + index * 4, sizeof code);
    return code;
  }
  const int64_t bit = index * width;
  const int within = static_cast<int>(bit & 7);
  uint32_t code = static_cast<uint32_t>(bytes[bit >> 3]) >> within;
  if (within + width > 8) code |= static_cast<uint32_t>(bytes[(bit >> 3) + 1]) << (8 - within);
  return code & ((1u << width) - 1);
}

/// Writes the low `width` bits of `code` at `index`; all other bits of `packed` stay as they are.
/// The same is demanded as of load_code().
inline void store_code(int width, std::byte* packed, int64_t index, uint32_t code) noexcept {
  auto* bytes = reinterpret_cast<uint8_t*>(packed);
  if (width >= 8) {
    std::memcpy(bytes + index * (width / 8), &code, static_cast<size_t>(width / 8));
    return;
  }
  const int64_t bit = index * width;
  const int within = static_cast<int>(bit & 7);
  const uint32_t mask = ((1u << width) - 1) << within;
  const uint32_t bits = code << within & mask;
  const auto put = [&](uint8_t& byte, int shift) {
    byte = static_cast<uint8_t>((byte & ~(mask >> shift)) | bits >> shift);
  };
  put(bytes[bit >> 3], 0);
  if (within + width > 8) put(bytes[(bit >> 3) + 1], 8);
}

/// The code of an element at `index`, zero-extended; `packed` holds it.
inline uint32_t load_code(Element element, std::span<const std::byte> packed,
                          int64_t index) noexcept {
  return load_code(bits(element), packed.data(), index);
}

/// Writes the code of an element at `index`, as store_code() above; `packed` has room for it.
inline void store_code(Element element, std::span<std::byte> packed, int64_t index,
                       uint32_t code) noexcept {
  store_code(bits(element), packed.data(), index, code);
}

/// Writes codes.size() codes of 1 to 8 bits, from the index `first` on, to a byte each,
/// zero-extended. Memory of any alignment; the two may not overlap. Fails with invalid_argument,
/// and writes nothing, if the width is another, if `first` is negative, or if `packed` does not
/// hold the last of them.
DEQUANT_EXPORT Status unpack_codes(int width, std::span<const std::byte> packed, int64_t first,
                                   std::span<std::byte> codes);

/// The same for an element of at most 8 bits. Integers with a sign become int8: their sign fills
/// the bits above it.
DEQUANT_EXPORT Status unpack_codes(Element element, std::span<const std::byte> packed,
                                   int64_t first, std::span<std::byte> codes);

/// Packs the low `width` bits, 1 to 8, of each of `codes` into the first ceil(codes.size() * width
/// / 8) bytes of `packed`; what the last of these has beyond the last code becomes zero. Memory of
/// any alignment; `packed` may start where `codes` starts, and may not overlap it otherwise. Fails
/// with invalid_argument, and writes nothing, if the width is another or `packed` is smaller.
DEQUANT_EXPORT Status pack_codes(int width, std::span<const std::byte> codes,
                                 std::span<std::byte> packed);

}  // namespace dequant
