// Medians of interleaved samples, so that other load on the machine slows all contestants.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace small_bench {

/// A function to time; `calls` calls it `times` times.
struct Contestant {
  std::string name;
  std::function<void(int64_t times)> calls;
  int64_t times = 0;       ///< calls in a sample
  double nanoseconds = 0;  ///< median time of a call
  std::vector<double> samples = {};
};

inline double time_of(const Contestant& c, int64_t times) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  c.calls(times);
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Sets the median times over `rounds` rounds. A round times every contestant once, for about
/// `sample` nanoseconds.
inline void time_all(std::vector<Contestant>& contestants, int rounds, double sample) {
  for (Contestant& c : contestants) {
    c.times = 1;
    double spent = time_of(c, c.times);  // also warms the caches
    while ((spent = time_of(c, c.times)) < sample / 2) c.times *= 2;
  }
  for (int round = 0; round < rounds; ++round) {
    for (Contestant& c : contestants) {
      c.samples.push_back(time_of(c, c.times) / static_cast<double>(c.times));
    }
  }
  for (Contestant& c : contestants) {
    const auto middle = c.samples.begin() + static_cast<std::ptrdiff_t>(c.samples.size() / 2);
    std::nth_element(c.samples.begin(), middle, c.samples.end());
    c.nanoseconds = *middle;
  }
}

}  // namespace small_bench
