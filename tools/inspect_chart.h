// Charts of histograms, as SVG within a page.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "format/profile/histogram.h"

namespace dequant::tools {

/// Adjacent bars of equal width.
struct Bars {
  double begin = 0;  ///< position of the first bar on the axis
  double width = 1;
  std::vector<int64_t> counts;
  double middle = 0;  ///< distance of a tick from its position: half a bar where bars are numbers
  bool log = false;   ///< positions are binary logarithms
  std::function<double(double)> number = {};  ///< at a position; none: the position itself

  explicit Bars(const format::Histogram& histogram);

  bool empty() const { return counts.empty(); }
  double end() const { return begin + width * static_cast<double>(counts.size()); }
  /// The number at a position of the axis.
  double number_at(double position) const;
  /// The number at the end of the last bar, or the number of the last bar where each bar is a
  /// number.
  double last_number() const;
};

/// A chart of a few millimetres without axes. Its bars get the id, which full_chart() can refer to.
std::string small_chart(const Bars& bars, const std::string& id);

/// A chart with axes. `id` is that of the small chart whose bars it shows; if empty, it has bars of
/// its own.
std::string full_chart(const Bars& bars, const std::string& what, const std::string& id);

}  // namespace dequant::tools
