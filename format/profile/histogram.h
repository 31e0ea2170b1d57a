// A histogram with bins of equal width, which grows with the range of the numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dequant::format {

/// The width of a bin is a power of two, and bins begin at multiples of the width. The width is the
/// least with which all numbers fall into `bins` bins, but not much less than the resolution of the
/// largest number as a float. Where a number falls outside, pairs of bins are merged, which is
/// exact. So each number is read once. The result depends neither on the order of the numbers nor
/// on how they were divided among several histograms that were then added.
class Histogram {
 public:
  /// No bin is narrower than 2^finest.
  explicit Histogram(int bins = 64, int finest = kFinest) : bins_(bins), finest_(finest) {}

  /// Counts a finite number, `times` times.
  void add(double number, int64_t times = 1);

  /// Counts finite numbers, whose minimum and maximum are `least` and `greatest`.
  void add(std::span<const float> numbers, float least, float greatest);

  /// Adds the counts of another histogram, which must have the same `bins` and `finest`.
  void add(const Histogram& other);

  bool empty() const { return counts_.empty(); }
  /// The least and the greatest number; 0 where the histogram is empty.
  double least() const { return least_; }
  double greatest() const { return greatest_; }

  /// The bins from that of the least number to that of the greatest: the begin of the first bin,
  /// the width of each, and their counts. The histogram must not be empty.
  double begin() const;
  double width() const;
  std::span<const int64_t> counts() const;

  /// The same numbers in at most `bins` bins.
  Histogram coarser(int bins) const;

 private:
  static constexpr int kFinest = -1000;

  void include(double least, double greatest);
  void widen(int exponent);
  void fill_in(const Histogram& other);
  int64_t bin(double number) const;

  int bins_;
  int finest_;
  int exponent_ = kFinest;  ///< bins are 2^exponent_ wide
  int64_t base_ = 0;        ///< the index of the first bin in counts_
  double least_ = 0;
  double greatest_ = 0;
  std::vector<int64_t> counts_;  ///< bins_ entries, or none while the histogram is empty
};

}  // namespace dequant::format
