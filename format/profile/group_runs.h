// The scale of each element of a range.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "dequant/plan.h"

namespace dequant::format {

/// The scale of an element of a strided plan without a group index.
inline int64_t strided_scale(const Plan& plan, int64_t element) {
  int64_t scale = 0;
  for (size_t d = plan.dimensions.size(); d-- > 0; element /= plan.dimensions[d].size) {
    const Dimension& dimension = plan.dimensions[d];
    const int64_t group = element % dimension.size / dimension.block;
    const int64_t last = (dimension.size - 1) / dimension.block;
    scale += dimension.scale >= 0 ? group * dimension.scale : (group - last) * dimension.scale;
  }
  return scale;
}

/// for_each_group_run() of a strided plan: the elements of a run differ in the last dimension.
template <class Visit>
void for_each_strided_run(const Plan& plan, Range elements, Visit&& visit) {
  const Dimension& inner = plan.dimensions.back();
  for (int64_t i = elements.begin; i < elements.end;) {
    const int64_t in = i % inner.size;
    const bool blocks = inner.scale != 0 && inner.block > 1;
    const int64_t left = blocks ? inner.block - in % inner.block : inner.size;
    const int64_t count = std::min({left, inner.size - in, elements.end - i});
    visit(i - elements.begin, count, strided_scale(plan, i), blocks ? 0 : inner.scale);
    i += count;
  }
}

/// Calls visit(at, count, scale, step) for consecutive spans of the range: the `count` elements
/// from `elements.begin` + at on, where the i-th has the scale with index `scale` + i * step.
/// `step` is 0 or 1, or of a strided plan the stride of a dimension. A strided plan must not have a
/// group index.
template <class Visit>
void for_each_group_run(const Plan& plan, Range elements, Visit&& visit) {
  if (plan.granularity == Granularity::strided)
    return for_each_strided_run(plan, elements, std::forward<Visit>(visit));
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
