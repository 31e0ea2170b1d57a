// Checks the strides of a plan, and brings its dimensions into the simplest equivalent form.
#include "plan/strided.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include "checked.h"
#include "dequant/tensor.h"
#include "plan/packing.h"
#include "text.h"

namespace dequant {
namespace {

constexpr std::array kStrides{&Dimension::x, &Dimension::scale, &Dimension::zero_point,
                              &Dimension::y, &Dimension::group_index};

/// Fails if the number of elements from the first to the last that a tensor's strides reach does
/// not fit in 64 bits. Groups reach `more` elements beyond the dimensions.
Status check_reach(const std::vector<Dimension>& dimensions, int64_t Dimension::*stride,
                   std::string_view what, int64_t more = 0) {
  int64_t total = 1 + more;
  for (const Dimension& d : dimensions) {
    const int64_t count = steps(d, stride, 0, d.size);
    const auto step = d.*stride == INT64_MIN ? std::nullopt : std::optional(std::abs(d.*stride));
    const auto far = step ? checked_mul(count, *step) : std::nullopt;
    const auto sum = far ? checked_add(total, *far) : std::nullopt;
    if (!sum) {
      return invalid(what, ": a stride of ", d.*stride, " over ", d.size,
                     " indices reaches beyond 2^63 - 1 elements");
    }
    total = *sum;
  }
  return {};
}

/// The number of elements from the first group to the last group.
Result<int64_t> reach_of_groups(int64_t groups, int64_t stride, std::string_view what) {
  const auto far = groups == 0 ? std::optional<int64_t>(0) : checked_mul(groups - 1, stride);
  // INT64_MAX is too many: the element of the first group is added.
  if (far && *far < INT64_MAX) return *far;
  return invalid(what, ": a stride of ", stride, " over ", groups,
                 " groups reaches beyond 2^63 - 1 elements");
}

/// Checks that blocks have one index at least and that the strides of a group index are not
/// negative.
Status check_groups(const Plan& plan) {
  const GroupIndex& index = plan.parameters.group_index;
  if (index.groups < 0 || index.scale < 0 || index.zero_point < 0) {
    return invalid("parameters.group_index: ", index.groups, " groups with strides of ",
                   index.scale, " and ", index.zero_point, "; none may be negative");
  }
  for (const Dimension& d : plan.dimensions) {
    if (d.block < 1) return invalid("dimensions: a block of ", d.block, " is less than 1");
    if (d.group_index < 0 || (d.group_index != 0 && index.groups == 0)) {
      return invalid("dimensions: a stride of ", d.group_index, " in the group index ",
                     index.groups == 0 ? "of a plan without one" : "is negative");
    }
  }
  return {};
}

/// Checks that no two elements of y overlap: with the dimensions sorted by stride, each stride must
/// be larger than all that the dimensions before it reach together.
Status check_apart(const std::vector<Dimension>& dimensions) {
  std::array<const Dimension*, kMaxDimensions> sorted{};
  size_t count = 0;
  for (const Dimension& d : dimensions) {
    if (d.size > 1) sorted[count++] = &d;
  }
  const std::span used(sorted.data(), count);
  std::sort(used.begin(), used.end(),
            [](const Dimension* a, const Dimension* b) { return a->y < b->y; });
  int64_t reached = 0;
  for (const Dimension* dimension : used) {
    const Dimension& d = *dimension;
    if (d.y <= reached) {
      return invalid(
          "y: a stride of ", d.y, " over ", d.size,
          " indices makes elements overlap, or interleaves them; each stride must be above ",
          "the ", reached, " that smaller ones reach");
    }
    reached += (d.size - 1) * d.y;
  }
  return {};
}

/// True if two neighbouring dimensions are equivalent to one dimension in every tensor. Rows of
/// words that run down columns stay a dimension of their own.
bool may_merge(const Plan& plan, const Dimension& outer, const Dimension& inner) {
  if (outer.block != 1 || inner.block != 1) return false;
  const Packing& packing = plan.parameters.x_packing;
  if (runs_down_columns(packing) && outer.x == packing.row) return false;
  return std::all_of(kStrides.begin(), kStrides.end(), [&](auto stride) {
    return checked_mul(inner.size, inner.*stride) == outer.*stride;
  });
}

/// Where the block size divides a dimension, its blocks become a dimension of their own. A
/// dimension of one block becomes a dimension without blocks and with one scale.
std::vector<Dimension> without_whole_blocks(const std::vector<Dimension>& dimensions) {
  std::vector<Dimension> out;
  for (Dimension d : dimensions) {
    if (d.block >= d.size) d.scale = d.zero_point = 0;
    if (d.scale == 0 && d.zero_point == 0) d.block = 1;
    if (d.size % d.block == 0 && d.block > 1) {
      out.push_back({.size = d.size / d.block,
                     .x = d.x * d.block,
                     .scale = d.scale,
                     .zero_point = d.zero_point,
                     .y = d.y * d.block,
                     .group_index = d.group_index * d.block});
      d.size = d.block;
      d.scale = d.zero_point = 0;
      d.block = 1;
    }
    out.push_back(d);
  }
  return out;
}

/// The simplest equivalent dimensions: without those of size 1, sorted by the stride of y, and with
/// neighbours merged.
std::vector<Dimension> simplest(const Plan& plan, std::vector<Dimension> dimensions) {
  dimensions = without_whole_blocks(dimensions);
  std::erase_if(dimensions, [](const Dimension& d) { return d.size == 1; });
  std::stable_sort(dimensions.begin(), dimensions.end(),
                   [](const Dimension& a, const Dimension& b) { return a.y > b.y; });
  std::vector<Dimension> out;
  for (const Dimension& d : dimensions) {
    if (!out.empty() && may_merge(plan, out.back(), d)) {
      const int64_t size = out.back().size * d.size;
      out.back() = d;
      out.back().size = size;
    } else {
      out.push_back(d);
    }
  }
  return out;
}

/// True if the dimensions step through a tensor in row-major order without gaps.
bool is_packed(const std::vector<Dimension>& dimensions, int64_t Dimension::*stride) {
  int64_t want = 1;
  for (size_t i = dimensions.size(); i-- > 0;) {
    if (dimensions[i].*stride != want) return false;
    want *= dimensions[i].size;
  }
  return true;
}

/// Makes a plan blocked if one dimension has a short last block, and the tensor is
/// [outer, axis, inner] with scales of [outer, blocks, inner]. The dimensions outer and inner may
/// be missing.
bool set_short_blocks(Plan& plan, const std::vector<Dimension>& d) {
  const auto has_blocks = [](const Dimension& one) { return one.block != 1; };
  const auto at = std::find_if(d.begin(), d.end(), has_blocks);
  const auto before = at - d.begin();
  const auto behind = d.end() - at - 1;
  if (before > 1 || behind > 1 || std::any_of(at + 1, d.end(), has_blocks)) return false;
  const int64_t inner = behind == 0 ? 1 : at[1].size;
  const int64_t blocks = ceil_div(at->size, at->block);
  if (at->scale != inner || (behind == 1 && at[1].scale != 1)) return false;
  if (before == 1 && d[0].scale != blocks * inner) return false;
  plan.granularity = Granularity::blocked;
  plan.outer = before == 0 ? 1 : d[0].size;
  plan.axis = at->size;
  plan.inner = inner;
  plan.block = at->block;
  return true;
}

/// Gives a plan the granularity per_tensor, per_axis or blocked, if one is equivalent to the
/// dimensions.
bool set_packed(Plan& plan, const std::vector<Dimension>& d) {
  if (plan.parameters.group_index.groups != 0) return false;
  if (runs_down_columns(plan.parameters.x_packing)) return false;
  const bool same_params = std::all_of(d.begin(), d.end(), [&](const Dimension& one) {
    return one.zero_point == one.scale || !plan.has_zero_point;
  });
  if (!same_params || !is_packed(d, &Dimension::x) || !is_packed(d, &Dimension::y)) return false;
  if (std::any_of(d.begin(), d.end(), [](const Dimension& one) { return one.block != 1; })) {
    return set_short_blocks(plan, d);
  }
  const auto scales_are = [&](std::initializer_list<int64_t> strides) {
    return std::equal(d.begin(), d.end(), strides.begin(), strides.end(),
                      [](const Dimension& one, int64_t stride) { return one.scale == stride; });
  };
  const auto set = [&](Granularity granularity, int64_t outer, int64_t axis, int64_t inner) {
    plan.granularity = granularity;
    plan.outer = outer;
    plan.axis = axis;
    plan.inner = inner;
    return true;
  };
  using enum Granularity;
  if (scales_are({})) return set(per_tensor, 1, 1, 1);
  if (scales_are({0})) return set(per_tensor, 1, 1, d[0].size);
  if (scales_are({1})) return set(per_axis, 1, d[0].size, 1);
  if (scales_are({0, 1})) return set(per_axis, d[0].size, d[1].size, 1);
  if (scales_are({1, 0})) return set(per_axis, 1, d[0].size, d[1].size);
  if (scales_are({0, 1, 0})) return set(per_axis, d[0].size, d[1].size, d[2].size);
  if (d.size() == 3 && scales_are({d[2].size, 0, 1})) {
    plan.block = d[1].size;
    return set(blocked, d[0].size, d[1].size, d[2].size);
  }
  return false;
}

}  // namespace

Status check_dimensions(const Plan& plan) {
  DEQUANT_CHECK(check_groups(plan));
  if (plan.dimensions.size() > static_cast<size_t>(kMaxDimensions)) {
    return invalid("dimensions: ", plan.dimensions.size(), " are more than ", kMaxDimensions);
  }
  const auto blocks = std::count_if(plan.dimensions.begin(), plan.dimensions.end(),
                                    [](const Dimension& d) { return d.block != 1; });
  if (static_cast<int64_t>(plan.dimensions.size()) + blocks > kMaxDimensions) {
    return invalid("dimensions: ", plan.dimensions.size(), ", of which ", blocks,
                   " with blocks count twice, are more than ", kMaxDimensions);
  }
  std::array<int64_t, kMaxDimensions> sizes{};
  for (size_t i = 0; i < plan.dimensions.size(); ++i) sizes[i] = plan.dimensions[i].size;
  DEQUANT_TRY(const int64_t count, element_count(Shape(sizes.data(), plan.dimensions.size())));
  if (count == 0) return {};  // no element, so no stride reaches anything
  DEQUANT_CHECK(check_reach(plan.dimensions, &Dimension::x, "x"));
  const GroupIndex& index = plan.parameters.group_index;
  DEQUANT_TRY(const int64_t scales, reach_of_groups(index.groups, index.scale, "scale"));
  DEQUANT_TRY(const int64_t zeros, reach_of_groups(index.groups, index.zero_point, "zero_point"));
  DEQUANT_CHECK(check_reach(plan.dimensions, &Dimension::scale, "scale", scales));
  DEQUANT_CHECK(check_reach(plan.dimensions, &Dimension::zero_point, "zero_point", zeros));
  DEQUANT_CHECK(check_reach(plan.dimensions, &Dimension::group_index, "group_index"));
  DEQUANT_CHECK(check_reach(plan.dimensions, &Dimension::y, "y"));
  return check_apart(plan.dimensions);
}

Reach reach(const std::vector<Dimension>& dimensions, int64_t Dimension::*stride) noexcept {
  Reach out;
  for (const Dimension& d : dimensions) {
    const int64_t far = steps(d, stride, 0, d.size) * (d.*stride);
    (far < 0 ? out.lowest : out.highest) += far;
  }
  return out;
}

Result<Plan> strided_plan(Plan plan, std::vector<Dimension> dimensions) {
  plan.granularity = Granularity::strided;
  plan.dimensions = std::move(dimensions);
  DEQUANT_CHECK(check_dimensions(plan));
  if (!plan.has_zero_point) {
    // Strides equal to those of the scale never keep dimensions from being merged.
    for (Dimension& d : plan.dimensions) d.zero_point = d.scale;
  }
  if (element_count(plan) == 0) return plan;
  plan.dimensions = simplest(plan, std::move(plan.dimensions));
  if (set_packed(plan, plan.dimensions)) {
    plan.dimensions.clear();
  } else if (plan.dimensions.empty()) {
    plan.dimensions.push_back({.y = 1});  // of one element
  }
  return plan;
}

}  // namespace dequant
