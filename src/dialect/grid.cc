// Plans of a packed tensor whose scales are a smaller tensor of the same rank.
#include "dialect/grid.h"

#include <algorithm>
#include <vector>

#include "checked.h"
#include "plan/strided.h"
#include "text.h"

namespace dequant {
namespace {

/// The number of blocks in each dimension; nothing where the scales are one for each row.
Status check_grid(const NamedTensor& x, const NamedTensor& scale, Shape block) {
  const Shape size = x.type.shape;
  const Shape blocks = scale.type.shape;
  if (blocks.size() != size.size()) {
    return invalid(scale.name, ": shape ", to_string(blocks), " has rank ", blocks.size(),
                   " where ", x.name, ", ", to_string(size), ", has rank ", size.size());
  }
  for (size_t d = 0; d < size.size(); ++d) {
    if (!block.empty() && blocks[d] == ceil_div(size[d], block[d])) continue;
    if (block.empty() && (blocks[d] == 1 || blocks[d] == size[d])) continue;
    if (block.empty()) {
      return invalid(scale.name, ": dimension ", d, " is ", blocks[d], ", neither 1 nor the ",
                     size[d], " of ", x.name, ", and no block length says how they correspond");
    }
    return invalid(scale.name, ": dimension ", d, " is ", blocks[d], " where ", size[d], " of ",
                   x.name, " in blocks of ", block[d], " need ", ceil_div(size[d], block[d]));
  }
  return {};
}

Status check_block(const NamedTensor& x, Shape block) {
  if (block.empty()) return {};
  if (block.size() != x.type.shape.size()) {
    return invalid("block: ", block.size(), " lengths for the ", x.type.shape.size(),
                   " dimensions of ", x.name, ", ", to_string(x.type.shape));
  }
  for (size_t d = 0; d < block.size(); ++d) {
    if (block[d] < 1) return invalid("block: length ", d, " is ", block[d], ", less than 1");
  }
  return {};
}

}  // namespace

Result<Plan> grid_plan(Plan plan, const NamedTensor& x, const NamedTensor& scale, Shape block) {
  const Shape size = x.type.shape;
  const auto count = element_count(size);
  if (!count) return invalid(x.name, ": ", count.error().message);
  const auto scales = element_count(scale.type.shape);
  if (!scales) return invalid(scale.name, ": ", scales.error().message);
  for (const Element element : {plan.input, plan.output}) {
    if (auto bytes = packed_bytes(element, *count); !bytes)
      return invalid(x.name, ": ", bytes.error().message);
  }
  DEQUANT_CHECK(check_block(x, block));

  std::vector<Dimension> dimensions(size.size());
  int64_t stride = 1;
  for (size_t d = size.size(); d-- > 0; stride *= std::max<int64_t>(size[d], 1)) {
    dimensions[d] = {.size = size[d], .x = stride, .y = stride};
  }
  const bool one = scale.type.shape.size() <= 1 && *scales == 1;
  const bool per_row = scale.type.shape.size() == 1 && size.size() > 1 && block.empty() &&
                       scale.type.shape[0] == size[0];
  if (per_row) {
    dimensions[0].scale = dimensions[0].zero_point = 1;
  } else if (!one) {
    DEQUANT_CHECK(check_grid(x, scale, block));
    int64_t of_scale = 1;
    for (size_t d = size.size(); d-- > 0; of_scale *= std::max<int64_t>(scale.type.shape[d], 1)) {
      if (scale.type.shape[d] <= 1) continue;
      dimensions[d].scale = dimensions[d].zero_point = of_scale;
      dimensions[d].block = block.empty() ? 1 : block[d];
    }
  }
  plan.granularity = Granularity::strided;
  return strided_plan(std::move(plan), std::move(dimensions));
}

}  // namespace dequant
