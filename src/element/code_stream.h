// Packs and unpacks consecutive codes of 1 to 8 bits, with a loop for each width. Compilers
// vectorize the loops where the width divides 8.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "dequant/codes.h"

namespace dequant {

static_assert(std::endian::native == std::endian::little, "codes are little-endian in memory");

/// Moves eight codes of kWidth bits between the low bits of eight bytes and 8 * kWidth consecutive
/// bits. Each step joins or separates neighbours: codes, then pairs of codes, then quadruples.
/// kOne, kTwo and kFour are the bits of the lower neighbour in each step, in its final place.
template <int kWidth>
struct Eight {
  static_assert(kWidth >= 1 && kWidth <= 8);
  static constexpr uint64_t kOne = 0x0001000100010001u * ((1u << kWidth) - 1);
  static constexpr uint64_t kTwo = 0x0000000100000001u * ((1u << 2 * kWidth) - 1);
  static constexpr uint64_t kFour = (uint64_t{1} << 4 * kWidth) - 1;
  static constexpr int kGap = 8 - kWidth;

  /// Packs the low kWidth bits of each of eight bytes.
  static constexpr uint64_t pack(uint64_t codes) noexcept {
    codes = (codes & kOne) | (codes >> kGap & kOne << kWidth);
    codes = (codes & kTwo) | (codes >> 2 * kGap & kTwo << 2 * kWidth);
    return (codes & kFour) | (codes >> 4 * kGap & kFour << 4 * kWidth);
  }

  /// Unpacks the low 8 * kWidth bits to eight bytes. Higher bits are ignored.
  static constexpr uint64_t unpack(uint64_t codes) noexcept {
    codes = (codes & kFour) | (codes << 4 * kGap & kFour << 32);
    codes = (codes & kTwo) | (codes << 2 * kGap & kTwo << 16);
    return (codes & kOne) | (codes << kGap & kOne << 8);
  }
};

/// Writes byte(code) to `out` for each of `count` codes from index i on. Reads only bytes that hold
/// these codes.
template <int kWidth, class Byte>
void unpack_each(const std::byte* packed, int64_t i, int64_t count, uint8_t* out,
                 const Byte& byte) noexcept {
  for (; (i * kWidth & 7) != 0 && count > 0; ++i, --count) {
    *out++ = byte(load_code(kWidth, packed, i));
  }
  // Codes of an iteration, which fill whole bytes.
  constexpr int64_t kCodes = 8 % kWidth == 0 ? 8 / kWidth : 8;
  const std::byte* from = packed + (i * kWidth >> 3);
  const int64_t whole = count / kCodes;
  for (int64_t k = 0; k < whole; ++k) {
    if constexpr (8 % kWidth == 0) {
      const auto codes = static_cast<unsigned>(from[k]);
      for (int64_t j = 0; j < kCodes; ++j) {
        out[k * kCodes + j] = byte(codes >> (j * kWidth) & ((1u << kWidth) - 1));
      }
    } else {
      uint64_t codes = 0;
      std::memcpy(&codes, from + k * kWidth, kWidth);
      codes = Eight<kWidth>::unpack(codes);
      for (int64_t j = 0; j < kCodes; ++j) out[k * kCodes + j] = byte(codes >> (j * 8) & 0xFF);
    }
  }
  for (int64_t k = whole * kCodes; k < count; ++k) out[k] = byte(load_code(kWidth, packed, i + k));
}

/// Packs the low kWidth bits of `count` bytes. Bits of the last packed byte after the last code
/// become zero. `packed` may equal `codes`: a byte is written after all codes at or before its
/// address have been read.
template <int kWidth>
void pack_each(const std::byte* codes, int64_t count, std::byte* packed) noexcept {
  const auto eight = [&](int64_t i, size_t n) {
    uint64_t word = 0;
    std::memcpy(&word, codes + i, n);
    word = Eight<kWidth>::pack(word);
    std::memcpy(packed + i / 8 * kWidth, &word, (n * kWidth + 7) / 8);
  };
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) eight(i, 8);
  if (i < count) eight(i, static_cast<size_t>(count - i));
}

/// The code of a signed integer of kWidth bits as int8.
template <int kWidth>
constexpr uint8_t signed_byte(unsigned code) noexcept {
  constexpr unsigned kSign = 1u << (kWidth - 1);
  return static_cast<uint8_t>((code ^ kSign) - kSign);
}

/// Calls visit(std::integral_constant<int, width>) for a width of 1 to 8.
template <class Visit>
void with_width(int width, const Visit& visit) {
  switch (width) {
    case 1: return visit(std::integral_constant<int, 1>());
    case 2: return visit(std::integral_constant<int, 2>());
    case 3: return visit(std::integral_constant<int, 3>());
    case 4: return visit(std::integral_constant<int, 4>());
    case 5: return visit(std::integral_constant<int, 5>());
    case 6: return visit(std::integral_constant<int, 6>());
    case 7: return visit(std::integral_constant<int, 7>());
    default: return visit(std::integral_constant<int, 8>());
  }
}

}  // namespace dequant
