// Words and numbers of a plan for reports.
#include "format/model/plan_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace dequant::format {
namespace {

/// The index of the scale of element i of y.
int64_t scale_of(const Plan& plan, int64_t i) {
  if (plan.granularity == Granularity::per_tensor) return 0;
  if (plan.granularity == Granularity::per_axis) return i / plan.inner % plan.axis;
  if (plan.granularity == Granularity::blocked) {
    const int64_t blocks = (plan.axis + plan.block - 1) / plan.block;
    const int64_t row = i / plan.inner;
    return (row / plan.axis * blocks + row % plan.axis / plan.block) * plan.inner + i % plan.inner;
  }
  int64_t index = 0;
  for (size_t d = plan.dimensions.size(); d-- > 0;) {
    const Dimension& dimension = plan.dimensions[d];
    index += i % dimension.size / dimension.block * dimension.scale;
    i /= dimension.size;
  }
  return index;
}

/// How many elements at a distance of `stride` share the first one's scale, of `size`.
int64_t shared(const Plan& plan, int64_t size, int64_t stride) {
  const int64_t first = scale_of(plan, 0);
  int64_t same = 0;  // the largest index known to share it, where blocks follow one another
  int64_t other = size;
  while (other - same > 1) {
    const int64_t middle = same + (other - same) / 2;
    (scale_of(plan, middle * stride) == first ? same : other) = middle;
  }
  return other;
}

/// The block of each dimension; empty where scales are not those of such blocks.
std::vector<int64_t> blocks_of(const Plan& plan, Shape shape) {
  std::vector<int64_t> blocks(shape.size());
  int64_t stride = 1;
  int64_t scales = 1;
  int64_t corner = 0;  // the last element of the first block
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    blocks[d] = shared(plan, shape[d], stride);
    scales *= (shape[d] + blocks[d] - 1) / blocks[d];
    corner += (blocks[d] - 1) * stride;
  }
  if (scales != scale_of(plan, stride - 1) + 1 || scale_of(plan, corner) != 0) blocks.clear();
  return blocks;
}

/// The blocks of a tensor with several scales, in words.
std::string text_of(Shape blocks, Shape shape) {
  const size_t last = shape.size() - 1;
  std::vector<size_t> whole;  // dimensions along which all share a scale
  std::vector<size_t> part;   // dimensions in blocks
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (blocks[d] == shape[d]) whole.push_back(d);
    if (blocks[d] != shape[d] && blocks[d] != 1) part.push_back(d);
  }
  if (part.empty() && whole.empty()) return "per element";
  if (part.empty() && whole.size() == 1 && whole[0] == last) return "per row";
  if (part.empty() && whole.size() == 1 && last == 1) return "per column";
  if (part.size() == 1 && whole.empty()) {
    const std::string groups = fmt::format("groups of {}", blocks[part[0]]);
    return part[0] == last ? groups : fmt::format("{} on axis {}", groups, part[0]);
  }
  return fmt::format("blocks of {}", fmt::join(blocks, " x "));
}

std::string scales_text(const Plan& plan, Shape shape) {
  if (plan.parameters.x_blocks) return fmt::format("in blocks of {}", plan.block);
  const int64_t groups = plan.parameters.group_index.groups;
  if (groups != 0) return fmt::format("{} groups by an index", groups);
  const int64_t count = element_count(plan);
  if (count == 0 || scale_of(plan, count - 1) == 0) return "per tensor";
  if (const auto blocks = blocks_of(plan, shape); !blocks.empty()) return text_of(blocks, shape);
  const std::vector<int64_t> flat{count};
  if (const auto run = blocks_of(plan, flat); !run.empty())
    return fmt::format("runs of {}, over rows", run[0]);
  return "in an order of their own";
}

}  // namespace

std::string_view stored_type(const Plan& plan) {
  const auto block = plan.parameters.x_blocks;
  return block ? name(*block) : name(plan.input);
}

std::string codes_text(const Plan& plan) {
  const Packing& packing = plan.parameters.x_packing;
  if (packing.order == CodeOrder::of_element) return std::string(stored_type(plan));
  return fmt::format("{}int{}", plan.input == Element::int8 ? "" : "u", packing.bits);
}

std::string granularity_text(const Plan& plan, std::optional<int64_t> axis, Shape shape) {
  if (!axis || plan.granularity == Granularity::strided) return scales_text(plan, shape);
  if (plan.granularity == Granularity::per_axis) return fmt::format("per axis {}", *axis);
  return fmt::format("blocked by {} on axis {}", plan.block, *axis);
}

std::string_view granularity_key(const Plan& plan) {
  switch (plan.granularity) {
    case Granularity::per_tensor: return "per_tensor";
    case Granularity::per_axis: return "per_axis";
    case Granularity::blocked: return "blocked";
    case Granularity::strided: return "strided";
  }
  return {};
}

}  // namespace dequant::format
