// The random generator of the vectors: a seed gives the same numbers on every machine. So it uses
// no distributions of the standard library, whose results may differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dequant::conformance::vectors {

/// A generator of random numbers.
class Random {
 public:
  /// Each text has its own numbers, so that the data of a case does not depend on other cases.
  Random(uint64_t seed, std::string_view text) : state_(seed) {
    uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    state_ = hash ^ bits();
  }

  /// 64 random bits (SplitMix64).
  uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  /// A number in [low, high].
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits() % static_cast<uint64_t>(high - low + 1));
  }

  bool coin() { return in(0, 1) == 1; }

  /// An entry of a list, which must not be empty.
  template <class List>
  auto of(const List& list) {
    return list[static_cast<size_t>(bits() % list.size())];
  }

 private:
  uint64_t state_;
};

}  // namespace dequant::conformance::vectors
