// Deciding whether a region of quantized numbers becomes float.
#include "format/onnx/region_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "format/io/errors.h"
#include "format/onnx/original_name.h"
#include "format/onnx/type_changes.h"

namespace dequant::format::onnx {
namespace {

/// The least number; NaN where one is NaN.
double least(const std::vector<double>& numbers) {
  double all = numbers[0];
  for (const double n : numbers) all = n < all || std::isnan(n) ? n : all;
  return all;
}

/// The number that all are; NaN where they differ.
double only(const std::vector<double>& numbers) {
  const bool equal =
      std::all_of(numbers.begin(), numbers.end(), [&](double n) { return n == numbers[0]; });
  return equal ? numbers[0] : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Result<RegionPlan> RegionPlanner::plan(const Region& region) {
  RegionPlan plan;
  plan.obstacle = region.obstacle;
  if (!plan.obstacle.empty()) return plan;
  const Place& one = region.one();
  DEQUANT_CHECK(check_parameters(region, one, plan));
  if (plan.obstacle.empty()) DEQUANT_CHECK(check_moves(region, one, plan));
  if (plan.obstacle.empty()) DEQUANT_CHECK(check_ends(region, one, plan));
  for (const MovedConstant& c : region.constants) {
    if (plan.obstacle.empty()) DEQUANT_CHECK(plan_fold(region, c, plan));
  }
  return plan;
}

/// All pairs of a region have one type, and one scale and zero point or those of the same slices.
Status RegionPlanner::check_parameters(const Region& region, const Place& one, RegionPlan& plan) {
  DEQUANT_TRY(const bool single, facts_.is_per_tensor(*one.graph, *one.node));
  if (!single) DEQUANT_CHECK(check_slices(region, one, plan));
  if (!plan.obstacle.empty()) return {};
  plan.type = one.node->is_dequantize()
                  ? facts_.output_type(*one.graph, *one.node)
                  : facts_.source_type(*one.graph, *one.node).value_or(Element::float32);
  if (!is_output(plan.type)) plan.obstacle = "its type is no float";
  for (const auto* places : {&region.quantize, &region.dequantize}) {
    for (const Place& p : *places) {
      DEQUANT_TRY(const bool same, facts_.same_constants(*p.graph, *p.node, *one.graph, *one.node));
      const Element type = p.node->is_dequantize()
                               ? facts_.output_type(*p.graph, *p.node)
                               : facts_.source_type(*p.graph, *p.node).value_or(plan.type);
      if (!same || type != plan.type)
        plan.obstacle =
            fmt::format("{} has another scale, zero point or type", escaped(p.node->label()));
    }
  }
  return {};
}

/// Scales of slices: all nodes keep the slices, and have their scales along the same.
Status RegionPlanner::check_slices(const Region& region, const Place& one, RegionPlan& plan) {
  DEQUANT_TRY(const Resolved scale, constants_.resolve(*one.graph, one.node->input(1)));
  if (!scale.constant) {
    plan.obstacle = "its scale is computed";
    return {};
  }
  const auto shape = scale.constant->array_type().shape;
  const Attribute* block = one.node->attribute("block_size");
  if (shape.size() != 1 || (block != nullptr && (block->i != 0 || !block->reference.empty()))) {
    plan.obstacle = "each block has a scale of its own";
    return {};
  }
  DEQUANT_TRY(RegionAxes axes, axes_.find(region, shape[0]));
  plan.obstacle = std::move(axes.obstacle);
  plan.axes = std::move(axes.of);
  return {};
}

Status RegionPlanner::check_moves(const Region& region, const Place& one, RegionPlan& plan) {
  DEQUANT_TRY(const Listed scale, facts_.listed(*one.graph, *one.node, 1));
  DEQUANT_TRY(const Listed zero, facts_.listed(*one.graph, *one.node, 2));
  const bool known = !scale.numbers.empty() && !zero.numbers.empty();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const MovedNumbers numbers{known ? least(scale.numbers) : nan, known ? only(zero.numbers) : nan,
                             plan.type, 0};
  for (const Place& p : region.moves) {
    const MovingOperator& op = *moving_operator(*p.node);
    if (!known && (op.demand != Demand::nothing || plan.axes.empty())) {
      plan.obstacle = "its scale or zero point is not known";
      return {};
    }
    std::optional<double> padding;
    if (op.demand == Demand::padding) {
      DEQUANT_TRY(const Listed value, facts_.listed(*p.graph, *p.node, 2));
      if (value.numbers.size() == 1) padding = value.numbers[0];
    }
    MovedNumbers here = numbers;
    here.opset = p.graph->opsets.onnx.value_or(0);
    DEQUANT_TRY(std::string reason, moves_otherwise(model_, op, *p.node, here, padding));
    if (reason.empty()) continue;
    plan.obstacle = fmt::format("{} ({}) would move floats otherwise: {}", escaped(p.node->label()),
                                escaped(p.node->op_type()), reason);
    return {};
  }
  return {};
}

/// Decides on the nodes and values through which numbers enter and leave the region.
Status RegionPlanner::check_ends(const Region& region, const Place& one, RegionPlan& plan) {
  for (const auto* values : {&region.inputs, &region.outputs}) {
    for (const Value* v : *values) {
      if (!can_set_type(*v) || !(region.inputs.empty() || region.outputs.empty())) {
        plan.obstacle = fmt::format("{} of the model is quantized", escaped(v->name));
        return {};
      }
    }
  }
  for (const Place& p : region.quantize) {
    DEQUANT_TRY(PairReplacement r, replacements_.of_pair(*p.graph, *p.node, plan.type));
    plan.obstacle = r.stays;
    if (!plan.obstacle.empty()) return {};
    plan.quantize.push_back(std::move(r));
  }
  if (region.inputs.empty()) return {};
  const auto before = element_from_onnx(region.inputs[0]->elem_type);
  DEQUANT_TRY(plan.input, replacements_.of_input(*one.graph, *one.node,
                                                 before.value_or(Element::uint8), plan.type));
  plan.obstacle = plan.input.stays;
  return {};
}

/// Plans the floats of a constant that a node of the region moves.
Status RegionPlanner::plan_fold(const Region& region, const MovedConstant& c, RegionPlan& plan) {
  if (region.dequantize.empty()) {
    plan.obstacle = "no DequantizeLinear says what its constants are";
    return {};
  }
  const Place& d = region.dequantize[0];
  const Text name = c.place.node->inputs[c.input].text;
  if (d.graph != c.place.graph || d.graph->is_function || model_.ir_version < 4) {
    plan.obstacle =
        fmt::format("the graph of the floats of {} cannot have initializers", escaped(name));
    return {};
  }
  if (dtype_ && *dtype_ != plan.type) {
    plan.obstacle = fmt::format("the floats of {} would have the type of dtype", escaped(name));
    return {};
  }
  const Definition* codes = rewire_.scopes().find(*d.graph, name);
  const auto [known, is_new] = plan.names.try_emplace(codes);
  if (!is_new) return {};
  const std::string_view original = original_name(name);
  known->second =
      rewire_.fresh_name(std::string(original.empty() ? std::string_view(name) : original) +
                         "_DequantizeLinear_Output");
  const auto axis = plan.axes.find(codes);
  Node& made = dequantize_of(*d.node, name,
                             axis == plan.axes.end() ? std::nullopt : std::optional(axis->second),
                             known->second);
  DEQUANT_TRY(Decision decision, constants_.consider(*d.graph, made));
  if (!decision.dequantization) {
    plan.obstacle = std::move(decision.reason);
    return {};
  }
  Fold& fold = plan.folds.emplace_back(Fold{*std::move(decision.dequantization)});
  const Plan& p = fold.dequantization.plan;
  DEQUANT_TRY(fold.bytes, packed_bytes(p.output, element_count(p)));
  return {};
}

/// A DequantizeLinear of a constant itself, as one that stood before the node that moves it.
Node& RegionPlanner::dequantize_of(const Node& d, Text codes, std::optional<int64_t> axis,
                                   std::string_view output) {
  Node& made = model_.store.create<Node>() = d;
  std::vector<Name> inputs(made.inputs.begin(), made.inputs.end());
  inputs[0].text = codes;
  made.inputs = model_.store.array(std::span<const Name>(inputs));
  const Name name{model_.store.text(output)};
  made.outputs = model_.store.array(std::span<const Name>(&name, 1));
  made.next = nullptr;
  if (!axis) return made;
  std::vector<Attribute> attributes;
  for (const Attribute& a : made.attributes) {
    if (a.name != "axis") attributes.push_back(a);
  }
  attributes.push_back(int_attribute(model_.store, "axis", *axis).read);
  made.attributes = model_.store.array(std::span<const Attribute>(attributes));
  return made;
}

}  // namespace dequant::format::onnx
