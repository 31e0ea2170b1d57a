// What the scales of one tensor look like.
#pragma once

#include <cstdint>
#include <vector>

#include "format/profile/extent.h"
#include "format/profile/histogram.h"

namespace dequant::format {

/// One scale, and what it is applied to.
struct Group {
  int64_t index = 0;  ///< of the scale
  double scale = 0;
  double zero_point = 0;
  double largest = 0;  ///< of its values, without sign; NaN where one is
};

/// Scales, read from front to back.
class ScaleProfile {
 public:
  /// How many of the least, of the greatest and of those that are no numbers are told one by one.
  static constexpr size_t kListed = 5;

  /// With `all` false only the extent is found.
  void add(double scale, bool all = true);

  Extent extent;
  int64_t zeros = 0;
  int64_t negatives = 0;
  int64_t infinities = 0;
  Histogram linear;                       ///< of all that are finite
  Histogram log2;                         ///< of the logarithms of those above zero
  std::vector<Group> least;               ///< the least finite ones, least first
  std::vector<int64_t> first_nans;        ///< indices of the first few
  std::vector<int64_t> first_infinities;  ///< the same
  std::vector<Group> greatest;            ///< the greatest finite ones, greatest first
};

}  // namespace dequant::format
