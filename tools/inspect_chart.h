// Histograms as pictures within a page.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "format/profile/histogram.h"

namespace dequant::tools {

/// Bars of one width, next to each other.
struct Bars {
  double begin = 0;  ///< where the first begins on the axis
  double width = 1;
  std::vector<int64_t> counts;
  double middle =
      0;  ///< a tick stands so far right of its number: half a bar where bars are numbers
  bool log = false;  ///< the axis has logarithms to the base 2
  std::function<double(double)> number =
      {};  ///< what a position on the axis stands for; none: itself

  explicit Bars(const format::Histogram& histogram);

  bool empty() const { return counts.empty(); }
  double end() const { return begin + width * static_cast<double>(counts.size()); }
  double number_at(double position) const;
  /// Where the last bar ends, or which number it is.
  double last_number() const;
};

/// A picture of a few millimetres without axes, whose bars have the id for full_chart().
std::string small_chart(const Bars& bars, const std::string& id);

/// A picture with axes. `id` is that of the small one whose bars it shows, or empty: it has its
/// own.
std::string full_chart(const Bars& bars, const std::string& what, const std::string& id);

}  // namespace dequant::tools
