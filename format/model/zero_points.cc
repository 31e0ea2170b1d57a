// The zero points that a plan subtracts.
#include "format/model/zero_points.h"

#include <algorithm>
#include <array>
#include <vector>

#include "format/model/stored_reader.h"

namespace dequant::format {
namespace {

/// Elements that are computed at once.
constexpr int64_t kZerosAtOnce = int64_t{1} << 16;

/// One dimension of the scales: how many, and how far apart the scales and zero points are.
struct Axis {
  int64_t count;
  int64_t scale;
  int64_t zero_point;
};

std::vector<Axis> axes_of(const Plan& plan) {
  if (plan.granularity != Granularity::strided) return {{scale_count(plan), 1, 1}};
  std::vector<Axis> axes;
  const auto add = [&](int64_t count, int64_t scale, int64_t zero_point) {
    if (count > 1 && (scale != 0 || zero_point != 0)) axes.push_back({count, scale, zero_point});
  };
  for (const Dimension& d : plan.dimensions) add((d.size - 1) / d.block + 1, d.scale, d.zero_point);
  const GroupIndex& index = plan.parameters.group_index;
  add(index.groups, index.scale, index.zero_point);
  return axes;
}

/// A plan whose element is (0 - zero_point) * 1 for each scale. Codes of 0 and a scale of 1 are
/// those of all elements.
Plan of_zero_points(const Plan& plan, std::span<const Axis> axes) {
  Plan out{.granularity = Granularity::strided};
  out.has_zero_point = true;
  out.parameters.zero_point = zero_point_element(plan);
  out.parameters.zero_point_offset = plan.parameters.zero_point_offset;
  out.parameters.zero_point_overflow = plan.parameters.zero_point_overflow;
  out.parameters.zero_point_packing = plan.parameters.zero_point_packing;
  int64_t y = 1;
  for (size_t i = axes.size(); i-- > 0; y *= axes[i].count)
    out.dimensions.push_back({.size = axes[i].count, .zero_point = axes[i].zero_point, .y = y});
  std::reverse(out.dimensions.begin(), out.dimensions.end());
  if (out.dimensions.empty()) out.dimensions.push_back({.size = 1, .y = 1});
  return out;
}

/// The scale of an element of that plan.
int64_t scale_of(std::span<const Axis> axes, int64_t element) {
  int64_t scale = 0;
  for (size_t i = axes.size(); i-- > 0; element /= axes[i].count)
    scale += element % axes[i].count * axes[i].scale;
  return scale;
}

}  // namespace

bool are_computed(const Plan& plan) {
  return has_packed_zero_points(plan) || plan.parameters.zero_point_offset != 0;
}

Status for_each_zero_point(const Plan& plan, std::span<const std::byte> stored,
                           const ZeroPointVisitor& visitor) {
  const std::vector<Axis> axes = axes_of(plan);
  const Plan wanted = of_zero_points(plan, axes);
  const std::array<std::byte, 1> zero{};
  const std::array<float, 1> one{1};
  std::vector<float> y;
  const int64_t count = element_count(wanted);
  for (int64_t begin = 0; begin < count; begin += kZerosAtOnce) {
    const Range part{begin, std::min(begin + kZerosAtOnce, count)};
    y.resize(static_cast<size_t>(part.end - part.begin));
    const Range bytes = zero_point_bytes_of(wanted, slices_of(wanted, part).zero_point);
    const Buffers buffers{
        .x = zero,
        .scale = std::as_bytes(std::span(one)),
        .zero_point = stored.subspan(static_cast<size_t>(bytes.begin),
                                     static_cast<size_t>(bytes.end - bytes.begin)),
        .y = std::as_writable_bytes(std::span(y))};
    DEQUANT_CHECK(run_range(wanted, part, buffers));
    for (int64_t i = part.begin; i < part.end; ++i)
      visitor(scale_of(axes, i), -double{y[static_cast<size_t>(i - part.begin)]} + 0.0);
  }
  return {};
}

}  // namespace dequant::format
