// How many numbers lie where: counts in bins of one width, which grows as numbers come.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dequant::format {

/// Bins that are a power of two wide and begin at multiples of it. The width is the least with
/// which all numbers fall into `bins` bins, but not far below what the largest of them can resolve:
/// two bins become one, exactly, whenever a number falls outside. So one look at each number is
/// enough, and neither their order nor how they were divided among several histograms changes
/// anything.
class Histogram {
 public:
  /// No bin is narrower than 2^finest.
  explicit Histogram(int bins = 64, int finest = kFinest) : bins_(bins), finest_(finest) {}

  /// Numbers must be finite.
  void add(double number, int64_t times = 1);

  /// Many numbers, of which `least` and `greatest` are bounds that occur.
  void add(std::span<const float> numbers, float least, float greatest);

  /// As if each of the other's numbers had been added. Both must have the same limits.
  void add(const Histogram& other);

  bool empty() const { return counts_.empty(); }
  double least() const { return least_; }
  double greatest() const { return greatest_; }

  /// The bins from that of the least number to that of the greatest: where the first begins, how
  /// wide each is, and their counts. Of a histogram that is not empty.
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
  int64_t base_ = 0;        ///< the first of counts_, maybe left of the least number's
  double least_ = 0;
  double greatest_ = 0;
  std::vector<int64_t> counts_;  ///< bins_ of them, or none
};

}  // namespace dequant::format
