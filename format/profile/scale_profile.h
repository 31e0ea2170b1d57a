// Statistics of the scales of one tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/profile/extent.h"
#include "format/profile/histogram.h"

namespace dequant::format {

/// One scale, its zero point, and the largest of its values.
struct Group {
  int64_t index = 0;  ///< of the scale
  double scale = 0;
  double zero_point = 0;
  std::optional<double> largest = {};  ///< magnitude of its values; NaN where a value is NaN
};

/// Statistics of scales, which are added in their order.
class ScaleProfile {
 public:
  /// Entries at most in each of the lists below.
  static constexpr size_t kListed = 5;

  /// Adds the next scale, by its index in the stored tensor. With `all` false only the extent and
  /// the counts are computed.
  void add(double scale, int64_t index, bool all = true);

  int64_t count() const { return extent.numbers + extent.nans; }

  Extent extent;
  int64_t zeros = 0;
  int64_t negatives = 0;
  int64_t infinities = 0;
  Histogram linear;                       ///< of finite scales
  Histogram log2;                         ///< of the binary logarithms of finite scales above zero
  std::vector<Group> least;               ///< the least finite scales, in ascending order
  std::vector<int64_t> first_nans;        ///< indices of the first NaN
  std::vector<int64_t> first_infinities;  ///< indices of the first infinities
  std::vector<Group> greatest;            ///< the greatest finite scales, in descending order
};

}  // namespace dequant::format
