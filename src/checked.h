// Integer arithmetic that reports overflow, for every size that comes from a caller or a file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace dequant {

inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) noexcept {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) noexcept {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

/// ceil(a / b) for a >= 0, b > 0; cannot overflow.
constexpr int64_t ceil_div(int64_t a, int64_t b) noexcept { return a / b + (a % b != 0 ? 1 : 0); }

/// Elements of a shape; none if a size is negative or the product of all sizes but zeros overflows.
/// So a size of zero cannot hide an overflow.
inline std::optional<int64_t> checked_count(std::span<const int64_t> shape) noexcept {
  int64_t product = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, size, &product)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : product;
}

/// Bytes of `count` packed elements of `bits` bits. Demands that count is not negative and that the
/// result does not overflow.
constexpr int64_t packed_size(int bits, int64_t count) noexcept {
  const auto n = static_cast<uint64_t>(count);
  const auto width = static_cast<uint64_t>(bits);
  return static_cast<int64_t>(n / 8 * width + (n % 8 * width + 7) / 8);
}

/// packed_size() of elements of at most 32 bits; none if count is negative or the result overflows.
inline std::optional<int64_t> checked_bytes(int bits, int64_t count) noexcept {
  // The bytes of the last seven elements fit: the product is at most 2^63 - bits for widths of 8,
  // 16 and 32, and less than 2^63 - 2^60 for smaller widths.
  if (count < 0 || !checked_mul(count / 8, bits)) return std::nullopt;
  return packed_size(bits, count);
}

}  // namespace dequant
