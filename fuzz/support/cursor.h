// The bytes of a fuzz input as numbers. Every function is total: beyond the end all bytes are zero,
// and zero bytes mean what is ordinary.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace dequant::fuzz {

class Cursor {
 public:
  Cursor(const uint8_t* data, size_t size) : rest_(data, size) {}

  template <class T>
  T raw() {
    T value{};
    const size_t count = std::min(sizeof value, rest_.size());
    if (count > 0) std::memcpy(&value, rest_.data(), count);
    rest_ = rest_.subspan(count);
    return value;
  }

  /// All bytes that are left.
  std::span<const uint8_t> rest() { return std::exchange(rest_, {}); }

  uint8_t byte() { return raw<uint8_t>(); }
  bool coin() { return (byte() & 1) != 0; }
  bool rarely() { return byte() >= 0xF8; }
  /// Less than n, which is at least 1.
  uint32_t below(size_t n) {
    return static_cast<uint32_t>((n <= 0x100 ? byte() : raw<uint16_t>()) % n);
  }

  template <class List>
  auto pick(const List& list) {
    return list[below(std::size(list))];
  }

  /// A number near a border of some integer type or of some product.
  int64_t extreme() {
    constexpr std::array<uint64_t, 16> kBorders{0,
                                                uint64_t{1} << 63,
                                                (uint64_t{1} << 63) - 1,
                                                uint64_t{1} << 31,
                                                ~0ULL,
                                                uint64_t{1} << 32,
                                                (uint64_t{1} << 32) - 1,
                                                uint64_t{1} << 62,
                                                1ULL << 16,
                                                uint64_t{1} << 61,
                                                uint64_t{1} << 59,
                                                uint64_t{1} << 33,
                                                1ULL << 30,
                                                uint64_t{1} << 48,
                                                ~0ULL << 31,
                                                uint64_t{1} << 60};
    const uint64_t border = pick(kBorders);
    return static_cast<int64_t>(border + byte() % 3 - 1);
  }

  /// A dimension: small as a rule.
  int64_t size() {
    constexpr std::array<uint8_t, 16> kSmall{1, 2, 3, 4, 5, 1, 2, 7, 8, 1, 3, 1, 2, 9, 17, 0};
    const uint8_t b = byte();
    if (b < 0xF0) return kSmall[b % kSmall.size()];
    if (b < 0xF8) return byte() * 9 + 5;
    return extreme();
  }

  /// A number in [low, high], or rarely any.
  int64_t integer(int64_t low, int64_t high) {
    const uint8_t b = byte();
    if (b < 0xF0) return low + b % (high - low + 1);
    return b < 0xF8 ? raw<int64_t>() : extreme();
  }

  /// Rarely more dimensions than anybody takes.
  std::vector<int64_t> shape(size_t ranks = 5) {
    const uint8_t b = byte();
    std::vector<int64_t> out(b < 0xF8 ? b % ranks : b - 0xF0U);
    for (int64_t& d : out) d = size();
    return out;
  }

  /// Input bytes as far as 64 of them reach, numbers made from those behind.
  void fill(std::span<std::byte> out) {
    const size_t own = std::min({out.size(), rest_.size(), size_t{64}});
    if (own > 0) std::memcpy(out.data(), rest_.data(), own);
    rest_ = rest_.subspan(own);
    for (size_t i = own; i < out.size(); ++i) {
      state_ = state_ * 6364136223846793005U + (i > 0 ? static_cast<uint8_t>(out[i - 1]) : 1U);
      out[i] = static_cast<std::byte>(state_ >> 56);
    }
  }

 private:
  std::span<const uint8_t> rest_;
  uint64_t state_ = 1442695040888963407U;
};

}  // namespace dequant::fuzz
