// A histogram with bins of equal width.
#include "format/profile/histogram.h"

#include <algorithm>
#include <cmath>

namespace dequant::format {
namespace {

/// The index of the bin of width 2^exponent that holds a number. Exact, as ldexp and floor are.
double bin_of(double number, int exponent) { return std::floor(std::ldexp(number, -exponent)); }

}  // namespace

int64_t Histogram::bin(double number) const {
  return static_cast<int64_t>(bin_of(number, exponent_));
}

/// Adds the counts of a histogram whose bins are as narrow or narrower.
void Histogram::fill_in(const Histogram& other) {
  const int halvings = std::min(exponent_ - other.exponent_, 63);
  for (size_t i = 0; i < other.counts_.size(); ++i) {
    if (other.counts_[i] == 0) continue;
    const int64_t k = (other.base_ + static_cast<int64_t>(i)) >> halvings;
    counts_[static_cast<size_t>(k - base_)] += other.counts_[i];
  }
}

void Histogram::widen(int exponent) {
  Histogram wide(bins_, finest_);
  wide.exponent_ = exponent;
  wide.least_ = least_;
  wide.greatest_ = greatest_;
  wide.base_ = wide.bin(least_);
  wide.counts_.resize(static_cast<size_t>(bins_));
  wide.fill_in(*this);
  *this = std::move(wide);
}

void Histogram::include(double least, double greatest) {
  // The largest number is at most 2^this bins from zero.
  constexpr int kReach = 20;
  if (!empty() && least >= least_ && greatest <= greatest_) return;
  least_ = empty() ? least : std::min(least_, least);
  greatest_ = empty() ? greatest : std::max(greatest_, greatest);
  // Each of these bounds only grows with the range of the numbers, and numbers that fit in bins of
  // one width fit in wider ones: so the order of the numbers does not matter.
  int exponent = std::max(exponent_, finest_);
  const double largest = std::max(std::abs(least_), std::abs(greatest_));
  if (largest > 0) exponent = std::max(exponent, std::ilogb(largest) - kReach);
  while (bin_of(greatest_, exponent) - bin_of(least_, exponent) >= bins_) ++exponent;
  const bool held =
      !empty() && exponent == exponent_ && bin(least_) >= base_ && bin(greatest_) < base_ + bins_;
  if (!held) widen(exponent);
}

void Histogram::add(double number, int64_t times) {
  if (times == 0) return;
  include(number, number);
  counts_[static_cast<size_t>(bin(number) - base_)] += times;
}

void Histogram::add(std::span<const float> numbers, float least, float greatest) {
  if (numbers.empty()) return;
  include(least, greatest);
  // Consecutive numbers are counted in different tables: they often fall into the same bin, and in
  // one table each addition would wait for the store of the one before.
  constexpr size_t kTables = 4;
  std::vector<uint32_t> tables(counts_.size() * kTables);
  const double scale = std::ldexp(1.0, -exponent_);
  size_t i = 0;
  for (const float number : numbers) {
    const double k = double{number} * scale;  // exact: a power of two
    auto down = static_cast<int32_t>(k);
    down -= down > k ? 1 : 0;
    ++tables[static_cast<size_t>(down - base_) * kTables + i++ % kTables];
  }
  for (size_t k = 0; k < tables.size(); ++k) counts_[k / kTables] += tables[k];
}

void Histogram::add(const Histogram& other) {
  if (other.empty()) return;
  include(other.least_, other.greatest_);
  fill_in(other);
}

double Histogram::begin() const { return std::ldexp(static_cast<double>(bin(least_)), exponent_); }

double Histogram::width() const { return std::ldexp(1.0, exponent_); }

std::span<const int64_t> Histogram::counts() const {
  return std::span(counts_).subspan(static_cast<size_t>(bin(least_) - base_),
                                    static_cast<size_t>(bin(greatest_) - bin(least_)) + 1);
}

Histogram Histogram::coarser(int bins) const {
  Histogram out(bins, finest_);
  if (empty()) return out;
  out.exponent_ = exponent_;
  out.include(least_, greatest_);
  out.fill_in(*this);
  return out;
}

}  // namespace dequant::format
