// Which stored scales, or zero points, elements have.
#pragma once

#include <vector>

#include "dequant/plan.h"

namespace dequant::format {

/// The stored scales, or zero points, of a plan that elements have. Rows of these may end with
/// entries that only fill up a word, as in AWQ's layout GEMV.
class UsedScales {
 public:
  /// `stride` and `of_groups` select scales or zero points.
  UsedScales(const Plan& plan, int64_t Dimension::*stride, int64_t GroupIndex::*of_groups);

  /// True where an element has this entry; also where that is not known, as rows overlap.
  bool contains(int64_t index) const;

 private:
  struct Step {
    int64_t count;
    int64_t stride;
  };

  int64_t end_ = 0;          ///< behind the last entry that an element has
  std::vector<Step> steps_;  ///< the longest stride first; empty: all entries before end_ are used
};

}  // namespace dequant::format
