// Counting the numbers of a float tensor.
#include "format/model/value_counts.h"

#include <algorithm>
#include <cmath>

#include "format/model/floats.h"

namespace dequant::format {

void ValueCounts::add(std::span<const std::byte> bytes) {
  constexpr size_t kMost = 4096;
  const auto width = static_cast<size_t>(bits(element_)) / 8;
  numbers_now_.resize(kMost);
  for (size_t at = 0; at + width <= bytes.size();) {
    const size_t count = std::min(kMost, (bytes.size() - at) / width);
    const auto now = std::span(numbers_now_).first(count);
    widen(element_, bytes.subspan(at), now);
    for (const float value : now) {
      double& sum = magnitude_[static_cast<size_t>(numbers_) % kLanes];
      if (std::isfinite(value)) {
        const bool first = finite() == 0;
        minimum_ = first ? value : std::min(minimum_, value);
        maximum_ = first ? value : std::max(maximum_, value);
        zero_ += value == 0 ? 1 : 0;
        sum += std::fabs(static_cast<double>(value));
      } else {
        ++(std::isnan(value) ? nan_ : infinity_);
      }
      ++numbers_;
    }
    at += count * width;
  }
}

std::optional<float> ValueCounts::minimum() const {
  return finite() == 0 ? std::nullopt : std::optional(minimum_);
}

std::optional<float> ValueCounts::maximum() const {
  return finite() == 0 ? std::nullopt : std::optional(maximum_);
}

std::optional<double> ValueCounts::mean_magnitude() const {
  if (finite() == 0) return {};
  double sum = 0;
  for (const double lane : magnitude_) sum += lane;
  return sum / static_cast<double>(finite());
}

}  // namespace dequant::format
