// The scale of each element of a range.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dequant/plan.h"

namespace dequant::format {

/// Calls visit(at, count, scale, step) for consecutive spans of the range: the `count` elements
/// from `elements.begin` + at on, where the i-th has the scale with index `scale` + i * step.
/// `step` is 0 or 1. The plan must not be strided.
template <class Visit>
void for_each_group_run(const Plan& plan, Range elements, Visit&& visit) {
  const bool blocked = plan.granularity == Granularity::blocked;
  const int64_t blocks = (plan.axis + plan.block - 1) / plan.block;
  for (int64_t i = elements.begin; i < elements.end;) {
    const int64_t in = i % plan.inner;
    const int64_t on_axis = i / plan.inner % plan.axis;
    const int64_t out = i / plan.inner / plan.axis;
    int64_t count = plan.inner - in;
    int64_t scale = on_axis;
    int64_t step = 0;
    if (blocked) {
      scale = (out * blocks + on_axis / plan.block) * plan.inner + in;
      step = plan.inner > 1 ? 1 : 0;
      if (plan.inner == 1) count = std::min(plan.block - on_axis % plan.block, plan.axis - on_axis);
    } else if (plan.granularity == Granularity::per_tensor) {
      scale = 0;
      count = elements.end - i;
    } else if (plan.inner == 1) {
      step = 1;
      count = plan.axis - on_axis;
    }
    count = std::min(count, elements.end - i);
    visit(i - elements.begin, count, scale, step);
    i += count;
  }
}

}  // namespace dequant::format
