// What a plan says of itself: sizes, and a line for people.
#include "dequant/plan.h"

#include "checked.h"
#include "plan/runs.h"
#include "text.h"

namespace dequant {

int64_t element_count(const Plan& plan) noexcept { return plan.outer * plan.axis * plan.inner; }

int64_t scale_count(const Plan& plan) noexcept {
  switch (plan.granularity) {
    case Granularity::per_tensor: return 1;
    case Granularity::per_axis: return plan.axis;
    case Granularity::blocked: return plan.outer * ceil_div(plan.axis, plan.block) * plan.inner;
  }
  return 0;
}

std::string to_string(const Plan& plan) {
  std::string out =
      concat(name(plan.input), "[", plan.outer, ", ", plan.axis, ", ", plan.inner, "]");
  switch (plan.granularity) {
    case Granularity::per_tensor: out += " per tensor"; break;
    case Granularity::per_axis: out += " per axis"; break;
    case Granularity::blocked: out += concat(" blocked by ", plan.block, " on the axis"); break;
  }
  return out + concat(", ", name(plan.scale), " scale", plan.has_zero_point ? ", zero point" : "",
                      " -> ", name(plan.output));
}

Range scales_of(const Plan& plan, Range elements) noexcept {
  const int64_t count = scale_count(plan);
  if (elements.begin >= elements.end) return {0, 0};
  int64_t first = count;
  int64_t last = 0;
  const Layout layout = layout_of(plan);
  // The first and the last row bound all others, unless rows start over at scale 0.
  const int64_t first_row = elements.begin / layout.row;
  const int64_t last_row = (elements.end - 1) / layout.row;
  if (first_row != last_row && layout.rows_share_scales) {
    first = 0;
    last = count;
  } else {
    first = layout.scale_at(elements.begin);
    last = layout.scale_at(elements.end - 1) + 1;
    // Rows of varying scales that differ only by block repeat theirs: take them whole.
    if (first_row != last_row && layout.run == 0) {
      first = layout.scale_at(first_row * layout.row);
      last = layout.scale_at(last_row * layout.row + layout.row - 1) + 1;
    }
  }
  return {first / 8 * 8, std::min(count, ceil_div(last, 8) * 8)};
}

}  // namespace dequant
