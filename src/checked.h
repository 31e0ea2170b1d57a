// Integer arithmetic that reports overflow. Every size that comes from outside goes through here.
#pragma once

#include <cstdint>
#include <optional>

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

}  // namespace dequant
