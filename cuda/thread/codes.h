// Reading codes: one at any index, in any order, and the values of floats.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "cuda/plan/device_plan.h"
#include "cuda/thread/narrow.h"
#include "dequant/codes.h"

namespace dequant::cuda {

constexpr uint32_t low_bits(int count) noexcept {
  return static_cast<uint32_t>((uint64_t{1} << count) - 1);
}

/// A 32-bit word, little-endian, at an address of any alignment.
DEQUANT_HD inline uint32_t load_word(const uint8_t* from) noexcept {
#if defined(__CUDA_ARCH__)
  if ((reinterpret_cast<uintptr_t>(from) & 3) == 0) {
    return *reinterpret_cast<const uint32_t*>(from);
  }
  // No std::memcpy(): nvcc 13.0 makes one aligned load of it and of the load above.
  return from[0] | uint32_t{from[1]} << 8 | uint32_t{from[2]} << 16 | uint32_t{from[3]} << 24;
#else
  uint32_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
#endif
}

DEQUANT_HD inline float load_float32(const uint8_t* data, int64_t i) noexcept {
  return std::bit_cast<float>(load_word(data + 4 * i));
}

/// Code `i` of a stream of bits; reads only bytes that hold it.
DEQUANT_HD inline uint32_t code_of_stream(const uint8_t* data, int bits, int64_t i) noexcept {
  if (bits == 8) return data[i];
  if (bits == 16) return data[2 * i] | static_cast<uint32_t>(data[2 * i + 1]) << 8;
  if (bits == 32) return load_word(data + 4 * i);
  const int64_t bit = i * bits;
  const int within = static_cast<int>(bit & 7);
  uint32_t code = static_cast<uint32_t>(data[bit >> 3]) >> within;
  if (within + bits > 8) code |= static_cast<uint32_t>(data[(bit >> 3) + 1]) << (8 - within);
  return code & low_bits(bits);
}

/// The words of a row of a Packing.
class Row {
 public:
  DEQUANT_HD Row(const Codes& codes, int64_t row) noexcept
      : data_(codes.data), first_(row * codes.row_step), step_(codes.word_step) {}

  DEQUANT_HD uint32_t word(int64_t j) const noexcept {
    return load_word(data_ + (first_ + j * step_) * 4);
  }

  /// `count` bits from bit `at` of the row on, which may lie in two words.
  DEQUANT_HD uint32_t bits(int64_t at, int count) const noexcept {
    const int within = static_cast<int>(at & 31);
    uint64_t both = word(at >> 5);
    if (within + count > 32) both |= static_cast<uint64_t>(word((at >> 5) + 1)) << 32;
    return static_cast<uint32_t>(both >> within) & low_bits(count);
  }

 private:
  const uint8_t* data_;
  int64_t first_;
  int64_t step_;
};

/// Code k of a row of planes: each 32 codes have a stream of 4, then of 2, then of 1 bit of each.
DEQUANT_HD inline uint32_t code_of_planes(const Row& row, int bits, int64_t k) noexcept {
  int64_t at = (k >> 5) * bits * 32;
  uint32_t code = 0;
  int done = 0;
  for (int plane = 4; plane > 0; plane >>= 1) {
    if ((bits & plane) == 0) continue;
    code |= row.bits(at + (k & 31) * plane, plane) << done;
    at += 32 * plane;
    done += plane;
  }
  return code;
}

DEQUANT_HD_CALL inline uint32_t code_of_row(const Codes& codes, int64_t i) noexcept {
  const int64_t r = codes.by_row.quotient(i);
  const Row row(codes, r);
  const int64_t k = i - r * codes.row;
  switch (codes.order) {
    case CodeOrder::words: {
      const int64_t word = codes.by_word.quotient(k);
      return row.bits(word * 32 + (k - word * codes.in_word) * codes.bits, codes.bits);
    }
    case CodeOrder::interleaved:
      return row.bits((k >> 3) * 32 + (k & 1) * 16 + ((k & 7) >> 1) * 4, 4);
    case CodeOrder::planes: return code_of_planes(row, codes.bits, k);
    default: return row.bits(k * codes.bits, codes.bits);
  }
}

DEQUANT_HD_CALL inline uint32_t code_of_slabs(const Codes& codes, int64_t i) noexcept {
  const int64_t slab = codes.by_columns.quotient(i);
  const uint8_t* from = codes.data + (i - slab * codes.columns) * codes.word_bytes;
  const uint32_t word = codes.word_bytes == 1 ? *from : load_word(from);
  const int64_t field = codes.order == CodeOrder::slabs ? slab : codes.in_word - 1 - slab;
  return word >> (field * codes.bits) & low_bits(codes.bits);
}

/// The code of an index, zero-extended.
DEQUANT_HD_CALL inline uint32_t code_at(const Codes& codes, int64_t i) noexcept {
  switch (codes.order) {
    case CodeOrder::of_element: return code_of_stream(codes.data, codes.bits, i);
    case CodeOrder::high_first: return codes.data[i >> 1] >> ((i & 1) == 0 ? 4 : 0) & 15;
    case CodeOrder::slabs:
    case CodeOrder::slabs_high_first: return code_of_slabs(codes, i);
    default: return code_of_row(codes, i);
  }
}

/// The same, without a call for whole bytes in order.
DEQUANT_HD inline uint32_t quick_code_at(const Codes& codes, int64_t i) noexcept {
  if (codes.order == CodeOrder::of_element) {
    if (codes.bits == 8) return codes.data[i];
    if (codes.bits == 16) return codes.data[2 * i] | uint32_t{codes.data[2 * i + 1]} << 8;
    if (codes.bits == 32) return load_word(codes.data + 4 * i);
  }
  return code_at(codes, i);
}

/// The value of an integer code of at most 31 bits.
DEQUANT_HD inline int32_t value_of(const Codes& codes, uint32_t code) noexcept {
  return static_cast<int32_t>(code ^ codes.sign) - static_cast<int32_t>(codes.sign);
}

/// The value of an integer code of any width.
DEQUANT_HD inline int64_t wide_value_of(const Codes& codes, uint32_t code) noexcept {
  return static_cast<int64_t>(code ^ codes.sign) - static_cast<int64_t>(codes.sign);
}

/// decode_float() with few branches; NaN becomes any NaN. Exponent and mantissa, shifted to their
/// places in a float32, are the float32 value * 2^(bias - 127). A multiplication by 2^(127 - bias)
/// is exact, for subnormal codes too.
DEQUANT_HD inline float float_of(FloatFormat f, uint32_t code) noexcept {
  if (f.bits == 32) return std::bit_cast<float>(code);
  if (f.specials == Specials::e8m0) return decode_float(f, code);
  const uint32_t sign = code >> (f.bits - 1);
  const uint32_t magnitude = code & low_bits(f.bits - 1);
  const float scaled = std::bit_cast<float>(magnitude << (23 - f.mantissa_bits));
  const float value = scaled * power_of_two(127 - f.bias);
  const uint32_t top = low_bits(f.exponent_bits) << f.mantissa_bits;
  if (f.specials == Specials::ieee && magnitude >= top) {
    return std::bit_cast<float>(magnitude > top ? kCanonicalNan : 0x7F800000 | sign << 31);
  }
  if (f.specials == Specials::fn && magnitude == low_bits(f.bits - 1)) {
    return std::bit_cast<float>(kCanonicalNan);
  }
  if (f.specials == Specials::fnuz && magnitude == 0 && sign != 0) {
    return std::bit_cast<float>(kCanonicalNan);
  }
  return std::bit_cast<float>(bits_of(value) | sign << 31);
}

}  // namespace dequant::cuda
