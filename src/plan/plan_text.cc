// Plans as text: the names of rules, and a description in one line.
#include <array>
#include <charconv>
#include <iterator>

#include "dequant/block.h"
#include "dequant/plan.h"
#include "plan/packing.h"
#include "text.h"

namespace dequant {

std::string_view name(Rule rule) noexcept {
  switch (rule) {
    case Rule::subtract_then_scale: return "subtract_then_scale";
    case Rule::min_combined: return "min_combined";
    case Rule::min_first: return "min_first";
    case Rule::scaled: return "scaled";
    case Rule::scaled_narrow_range: return "scaled_narrow_range";
    case Rule::documented_min_combined: return "documented_min_combined";
    case Rule::documented_min_first: return "documented_min_first";
    case Rule::documented_scaled: return "documented_scaled";
  }
  return "unknown";
}

namespace {

/// "of 3 bits in streams down columns".
std::string packing_text(const Packing& p) {
  static constexpr std::string_view kOrders[] = {"",
                                                 ", high first",
                                                 " in words",
                                                 " in streams",
                                                 ", interleaved",
                                                 " in planes",
                                                 " in slabs",
                                                 " in slabs, high first"};
  const auto order = static_cast<size_t>(p.order);
  return concat("of ", p.bits, " bits", order < std::size(kOrders) ? kOrders[order] : "",
                runs_down_columns(p) ? " down columns" : "");
}

std::string number_text(float number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

/// The text after "scale": what is done with scales, the zero point and the group index.
std::string parameters_text(const Plan& plan) {
  const Parameters& p = plan.parameters;
  std::string out;
  if (p.infinite_e8m0) out += " with infinity";
  if (p.reciprocal_scale) out += " inverted";
  if (p.tensor_scale == TensorScale::multiply) out += " times tensor scale";
  if (p.tensor_scale == TensorScale::divide) out += " by tensor scale";
  if (p.scale_rounding) out += concat(" rounded to ", name(*p.scale_rounding));
  if (plan.has_zero_point) {
    out += ", ";
    if (p.zero_point) out += concat(name(*p.zero_point), " ");
    out += "zero point";
    if (is_packing(p.zero_point_packing)) out += concat(" ", packing_text(p.zero_point_packing));
    if (p.zero_point_offset != 0) {
      out += concat(p.zero_point_offset < 0 ? " " : " +", p.zero_point_offset);
      if (p.zero_point_overflow == ZeroPointOverflow::wrap) out += " within its bits";
      if (p.zero_point_overflow == ZeroPointOverflow::carry) out += " to each word";
    }
    if (p.zero_point_role == ZeroPointRole::add_after) out += " added after";
    if (p.zero_point_role == ZeroPointRole::subtract_after) out += " subtracted after";
  }
  if (p.group_index.groups != 0) out += concat(", index of ", p.group_index.groups, " groups");
  if (p.result_factor != 1) out += concat(", times ", number_text(p.result_factor));
  if (p.result_rounding) out += concat(", rounded to ", name(*p.result_rounding));
  return out;
}

/// "Q4_K[2, 4096, 1] in blocks of 256 -> float32".
std::string block_text(const Plan& plan, BlockType type) {
  std::string scale;
  if (plan.parameters.tensor_scale == TensorScale::multiply) {
    scale = plan.outer == 1 ? ", times tensor scale" : concat(", times ", plan.outer, " scales");
  }
  return concat(name(type), "[", plan.outer, ", ", plan.axis, ", ", plan.inner, "] in blocks of ",
                plan.block, scale, " -> ", name(plan.output));
}

}  // namespace

std::string to_string(const Plan& plan) {
  if (const auto type = plan.parameters.x_blocks) return block_text(plan, *type);
  std::string out = concat(name(plan.input), "[");
  if (plan.granularity == Granularity::strided) {
    for (const Dimension& d : plan.dimensions) out += concat(out.back() == '[' ? "" : ", ", d.size);
  } else {
    out += concat(plan.outer, ", ", plan.axis, ", ", plan.inner);
  }
  out += "]";
  const Parameters& p = plan.parameters;
  if (is_packing(p.x_packing)) out += concat(" ", packing_text(p.x_packing));
  if (p.codebook) out += " by codebook";
  switch (plan.granularity) {
    case Granularity::per_tensor: out += " per tensor"; break;
    case Granularity::per_axis: out += " per axis"; break;
    case Granularity::blocked: out += concat(" blocked by ", plan.block, " on the axis"); break;
    case Granularity::strided: out += " strided"; break;
  }
  if (takes_ranges(plan.rule)) {
    out += concat(", ", name(plan.rule));
  } else {
    out += concat(", ", name(plan.scale), " scale", parameters_text(plan));
  }
  if (plan.implicit_zero_point != 0) out += concat(", zero point ", plan.implicit_zero_point);
  return out + concat(" -> ", name(plan.output));
}

}  // namespace dequant
