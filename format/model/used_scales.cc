// Which stored scales, or zero points, elements have.
#include "format/model/used_scales.h"

#include <algorithm>

namespace dequant::format {

UsedScales::UsedScales(const Plan& plan, int64_t Dimension::*stride,
                       int64_t GroupIndex::*of_groups) {
  if (plan.granularity != Granularity::strided) {
    end_ = scale_count(plan);
    return;
  }
  const auto add = [&](int64_t count, int64_t step) {
    if (count > 1 && step != 0) steps_.push_back({count, step});
  };
  for (const Dimension& d : plan.dimensions) add((d.size - 1) / d.block + 1, d.*stride);
  const GroupIndex& index = plan.parameters.group_index;
  add(index.groups, index.*of_groups);
  std::sort(steps_.begin(), steps_.end(),
            [](const Step& a, const Step& b) { return a.stride > b.stride; });
  end_ = 1;
  bool is_nested = true;
  for (size_t i = steps_.size(); i-- > 0;) {
    is_nested = is_nested && steps_[i].stride >= end_;  // negative strides are not
    end_ += (steps_[i].count - 1) * steps_[i].stride;
  }
  if (is_nested) return;
  steps_.clear();
  end_ = INT64_MAX;
}

bool UsedScales::contains(int64_t index) const {
  if (index >= end_) return false;
  if (steps_.empty()) return true;
  for (const Step& step : steps_) {
    const int64_t at = index / step.stride;
    if (at >= step.count) return false;
    index -= at * step.stride;
  }
  return index == 0;
}

}  // namespace dequant::format
