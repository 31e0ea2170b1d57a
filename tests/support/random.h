// A small generator that yields the same numbers on every machine, so that a failure repeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace dequant::testing {

/// How many of `all` random cases a test tries: a quarter of them with DEQUANT_FEWER_CASES in the
/// environment, for programs that an emulator or a sanitizer makes slow. Cases are the first of
/// those that the test tries without it.
inline int random_cases(int all) {
  static const bool fewer = std::getenv("DEQUANT_FEWER_CASES") != nullptr;
  return fewer ? (all + 3) / 4 : all;
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  /// 64 random bits (SplitMix64).
  uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  /// A number of [low, high].
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits() % static_cast<uint64_t>(high - low + 1));
  }

  bool coin() { return (bits() & 1) != 0; }

  /// One of a list.
  template <class List>
  auto of(const List& list) {
    return list[static_cast<size_t>(bits() % list.size())];
  }

  template <class Bytes>
  void fill(Bytes& bytes) {
    for (auto& b : bytes) b = static_cast<typename Bytes::value_type>(bits() & 0xFF);
  }

 private:
  uint64_t state_;
};

}  // namespace dequant::testing
