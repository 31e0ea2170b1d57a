// Running ranges of a plan on memory that holds their slices alone.
#pragma once

#include "support/strided.h"

namespace dequant::testing {

/// The bytes of a slice, in memory of their own.
inline Bytes cut(const Bytes& all, Range bytes) {
  return {all.begin() + bytes.begin, all.begin() + bytes.end};
}
inline Bytes cut(Element element, const Bytes& all, Range slice) {
  return cut(all, bytes_of(element, slice));
}

/// Runs a range on memory that holds its slices alone, and copies the results into t.y.
inline Status run_slices(const Plan& plan, Range range, Tensors& t,
                         const RunOptions& options = {}) {
  const Slices s = slices_of(plan, range);
  const Bytes x = cut(t.x, x_bytes_of(plan, s.x));
  const Bytes scale = cut(plan.scale, t.scale, s.scale);
  const Bytes zero = cut(t.zero_point, zero_point_bytes_of(plan, s.zero_point));
  const Bytes codebook = cut(Element::float32, t.codebook, s.codebook);
  const Bytes tensor_scale = cut(Element::float32, t.tensor_scale, s.tensor_scale);
  const Bytes group_index = cut(Element::int32, t.group_index, s.group_index);
  Bytes y = cut(plan.output, t.y, s.y);
  DEQUANT_CHECK(run_range(plan, range,
                          {.x = x,
                           .scale = scale,
                           .zero_point = zero,
                           .y = y,
                           .tensor_scale = tensor_scale,
                           .group_index = group_index,
                           .codebook = codebook},
                          options));
  std::copy(y.begin(), y.end(), t.y.begin() + bytes_of(plan.output, s.y).begin);
  return {};
}

}  // namespace dequant::testing
