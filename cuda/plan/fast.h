// Which elements of a plan have a FastPlan.
#pragma once

#include <optional>

#include "cuda/plan/fast_plan.h"

namespace dequant::cuda {

/// The range of elements that a FastPlan computes: all whole rows of the outermost dimension, or
/// all whole vectors if there is only one dimension. Other elements are at the ends of the plan's
/// range.
Range fast_elements(const DevicePlan& p) noexcept;

/// The FastPlan of fast_elements(); none if a rule of fast_plan.h does not hold.
std::optional<FastPlan> fast_plan(const DevicePlan& p) noexcept;

/// The plan with other elements.
DevicePlan with_elements(DevicePlan p, Range elements) noexcept;

/// Calls general(DevicePlan) and fast(FastPlan) for plans that together have all elements, until a
/// call returns an error.
template <class General, class Fast>
Status for_each_launch(const DevicePlan& p, const General& general, const Fast& fast) {
  const auto quick = fast_plan(p);
  if (!quick) return general(p);
  const Range all = p.elements;
  const Range middle = fast_elements(p);
  if (all.begin < middle.begin) {
    DEQUANT_CHECK(general(with_elements(p, {all.begin, middle.begin})));
  }
  DEQUANT_CHECK(fast(*quick));
  if (middle.end < all.end) return general(with_elements(p, {middle.end, all.end}));
  return {};
}

}  // namespace dequant::cuda
