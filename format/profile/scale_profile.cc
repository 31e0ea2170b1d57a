// Statistics of the scales of one tensor.
#include "format/profile/scale_profile.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace dequant::format {
namespace {

/// Inserts a group in a sorted list of at most kListed groups. Of equal scales the earlier one
/// comes first.
template <class Before>
void keep(std::vector<Group>& groups, const Group& group, Before before) {
  if (groups.size() == ScaleProfile::kListed) {
    if (!before(group.scale, groups.back().scale)) return;
    groups.pop_back();
  }
  const auto behind = [&](double scale, const Group& g) { return before(scale, g.scale); };
  groups.insert(std::upper_bound(groups.begin(), groups.end(), group.scale, behind), group);
}

}  // namespace

void ScaleProfile::add(double scale, int64_t index, bool all) {
  extent.add(scale);
  zeros += scale == 0 ? 1 : 0;
  negatives += scale < 0 ? 1 : 0;
  infinities += std::isinf(scale) ? 1 : 0;
  if (!all) return;
  const auto note = [&](std::vector<int64_t>& first) {
    if (first.size() < kListed) first.push_back(index);
  };
  if (std::isnan(scale)) return note(first_nans);
  if (std::isinf(scale)) return note(first_infinities);
  linear.add(scale);
  if (scale > 0) log2.add(std::log2(scale));
  keep(least, {index, scale}, std::less<>());
  keep(greatest, {index, scale}, std::greater<>());
}

}  // namespace dequant::format
