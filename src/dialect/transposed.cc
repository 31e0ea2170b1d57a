// Plans of transposed matrices: the strides of y change, and nothing else.
#include "dialect/transposed.h"

#include "plan/strided.h"
#include "text.h"

namespace dequant {
namespace {

/// The dimensions of a plan that may have another granularity than strided.
std::vector<Dimension> dimensions_of(const Plan& plan) {
  if (plan.granularity == Granularity::strided) return plan.dimensions;
  const bool per_tensor = plan.granularity == Granularity::per_tensor;
  const bool blocked = plan.granularity == Granularity::blocked;
  // From scale to scale along the axis.
  const int64_t step = per_tensor ? 0 : blocked ? plan.inner : 1;
  const int64_t outer = blocked ? (plan.axis + plan.block - 1) / plan.block * plan.inner : 0;
  const int64_t inner = blocked ? 1 : 0;
  const int64_t slab = plan.axis * plan.inner;
  return {{.size = plan.outer, .x = slab, .scale = outer, .zero_point = outer, .y = slab},
          {.size = plan.axis,
           .x = plan.inner,
           .scale = step,
           .zero_point = step,
           .y = plan.inner,
           .block = plan.block},
          {.size = plan.inner, .x = 1, .scale = inner, .zero_point = inner, .y = 1}};
}

/// The dimension as two: whole rows, and the `inner` indices of a row. Returns false where there
/// are no whole rows, or where blocks and rows do not divide each other.
bool split(const Dimension& d, int64_t inner, std::vector<Dimension>& out) {
  const bool within = inner % d.block == 0;  // blocks are parts of rows
  if (d.size % inner != 0 || (!within && d.block % inner != 0)) return false;
  const int64_t blocks = within ? inner / d.block : 1;
  out.push_back({.size = d.size / inner,
                 .x = d.x * inner,
                 .scale = d.scale * blocks,
                 .zero_point = d.zero_point * blocks,
                 .y = d.y * inner,
                 .block = within ? 1 : d.block / inner,
                 .group_index = d.group_index * inner});
  Dimension row = d;
  row.size = inner;
  if (!within) row.scale = row.zero_point = 0;
  if (!within) row.block = 1;
  out.push_back(row);
  return true;
}

}  // namespace

Result<Plan> transposed_plan(Plan plan, int64_t rows, int64_t columns) {
  if (plan.parameters.x_blocks) return invalid("transposed: x is blocks with scales of their own");
  if (rows < 2 || columns < 2) return plan;  // the same elements in the same order
  std::vector<Dimension> dimensions;
  for (const Dimension& d : dimensions_of(plan)) {
    const bool straddles = d.y < columns && columns < d.size * d.y;
    if (!straddles) {
      dimensions.push_back(d);
    } else if (columns % d.y != 0 || !split(d, columns / d.y, dimensions)) {
      return Error{ErrorCode::unsupported,
                   concat("transposed: elements that share a scale neither fill rows of ", columns,
                          " nor divide these")};
    }
  }
  for (Dimension& d : dimensions) d.y = d.y >= columns ? d.y / columns : d.y * rows;
  plan.granularity = Granularity::strided;
  plan.outer = plan.axis = plan.inner = plan.block = 1;
  return strided_plan(std::move(plan), std::move(dimensions));
}

}  // namespace dequant
