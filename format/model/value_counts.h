// What the numbers of a float tensor are, for audits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dequant/element.h"

namespace dequant::format {

/// Counts the numbers of a tensor, which are added from front to back. The results do not depend on
/// how the bytes are cut into parts.
class ValueCounts {
 public:
  /// `element` is float32, float16 or bfloat16.
  explicit ValueCounts(Element element) : element_(element) {}

  /// Adds the next bytes, whole numbers, little-endian.
  void add(std::span<const std::byte> bytes);

  int64_t nan() const { return nan_; }
  int64_t infinity() const { return infinity_; }
  int64_t zero() const { return zero_; }
  // Of finite numbers; nothing: there are none.
  std::optional<float> minimum() const;
  std::optional<float> maximum() const;
  /// The mean of the magnitudes. Element i is added, in float64, to sum i mod 8; the sums are added
  /// in order.
  std::optional<double> mean_magnitude() const;

 private:
  static constexpr size_t kLanes = 8;

  int64_t finite() const { return numbers_ - nan_ - infinity_; }

  Element element_;
  int64_t numbers_ = 0;
  int64_t nan_ = 0;
  int64_t infinity_ = 0;
  int64_t zero_ = 0;
  float minimum_ = 0;
  float maximum_ = 0;
  std::array<double, kLanes> magnitude_{};
  std::vector<float> numbers_now_;
};

}  // namespace dequant::format
