// The minimum and the maximum of numbers.
#pragma once

#include <cmath>
#include <cstdint>

namespace dequant::format {

/// The minimum and the maximum of numbers, without NaN. A zero of either sign is +0.
struct Extent {
  double least = 0;
  double greatest = 0;
  int64_t numbers = 0;  ///< how many were added, without NaN
  int64_t nans = 0;

  /// Adds a number or a NaN.
  void add(double value) {
    if (std::isnan(value)) {
      ++nans;
    } else {
      widen(value, value, 1);
    }
  }

  /// Adds `count` numbers with this minimum and maximum.
  void widen(double low, double high, int64_t count) {
    if (count == 0) return;
    if (numbers == 0 || low < least) least = low + 0.0;  // makes -0 a +0
    if (numbers == 0 || high > greatest) greatest = high + 0.0;
    numbers += count;
  }

  /// Adds the numbers of another extent.
  void add(const Extent& other) {
    widen(other.least, other.greatest, other.numbers);
    nans += other.nans;
  }
};

}  // namespace dequant::format
