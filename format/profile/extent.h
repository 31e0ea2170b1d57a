// The least and the greatest of some numbers.
#pragma once

#include <cmath>
#include <cstdint>

namespace dequant::format {

/// The least and the greatest of some numbers, NaN apart. Zeros have no sign.
struct Extent {
  double least = 0;
  double greatest = 0;
  int64_t numbers = 0;  ///< how many were neither NaN nor missing
  int64_t nans = 0;

  void add(double value) {
    if (std::isnan(value)) {
      ++nans;
    } else {
      widen(value, value, 1);
    }
  }

  /// `count` numbers with these bounds.
  void widen(double low, double high, int64_t count) {
    if (count == 0) return;
    if (numbers == 0 || low < least) least = low + 0.0;  // which makes -0 a 0
    if (numbers == 0 || high > greatest) greatest = high + 0.0;
    numbers += count;
  }

  void add(const Extent& other) {
    widen(other.least, other.greatest, other.numbers);
    nans += other.nans;
  }
};

}  // namespace dequant::format
