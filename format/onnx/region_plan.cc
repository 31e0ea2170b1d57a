// Deciding whether a region of quantized numbers becomes float.
#include "format/onnx/region_plan.h"

#include "format/io/errors.h"
#include "format/onnx/original_name.h"
#include "format/onnx/type_changes.h"

namespace dequant::format::onnx {

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

/// All pairs of a region have one scale, one zero point and one type.
Status RegionPlanner::check_parameters(const Region& region, const Place& one, RegionPlan& plan) {
  DEQUANT_TRY(const bool single, facts_.is_per_tensor(*one.graph, *one.node));
  if (!single) {
    plan.obstacle = "its scale is computed, or each slice has a scale of its own";
    return {};
  }
  plan.type = one.node->is_dequantize()
                  ? facts_.output_type(*one.graph, *one.node)
                  : facts_.source_type(*one.graph, *one.node).value_or(Element::float32);
  if (!is_output(plan.type)) plan.obstacle = "its type is no float";
  for (const auto* places : {&region.quantize, &region.dequantize}) {
    for (const Place& p : *places) {
      DEQUANT_TRY(const bool same,
                  facts_.same_parameters(*p.graph, *p.node, *one.graph, *one.node));
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

Status RegionPlanner::check_moves(const Region& region, const Place& one, RegionPlan& plan) {
  DEQUANT_TRY(const Listed scale, facts_.listed(*one.graph, *one.node, 1));
  DEQUANT_TRY(const Listed zero, facts_.listed(*one.graph, *one.node, 2));
  if (scale.numbers.size() != 1 || zero.numbers.size() != 1) {
    plan.obstacle = "its scale or zero point is not known";
    return {};
  }
  for (const Place& p : region.moves) {
    const MovingOperator& op = *moving_operator(*p.node);
    std::optional<double> padding;
    if (op.demand == Demand::padding) {
      DEQUANT_TRY(const Listed value, facts_.listed(*p.graph, *p.node, 2));
      if (value.numbers.size() == 1) padding = value.numbers[0];
    }
    DEQUANT_TRY(std::string reason, moves_otherwise(model_, op, *p.node,
                                                    {scale.numbers[0], zero.numbers[0], plan.type,
                                                     p.graph->opsets.onnx.value_or(0)},
                                                    padding));
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
  const auto add = [&](const Place& p, PairReplacement& r) {
    plan.obstacle = r.stays;
    if (plan.obstacle.empty() && r.clip && !p.graph->opsets.onnx)
      plan.obstacle = "a Clip needs an ai.onnx operator set, which the model does not import";
  };
  for (const Place& p : region.quantize) {
    DEQUANT_TRY(PairReplacement r, replacements_.of_pair(*p.graph, *p.node, plan.type));
    add(p, r);
    if (!plan.obstacle.empty()) return {};
    plan.quantize.push_back(std::move(r));
  }
  if (region.inputs.empty()) return {};
  const auto before = element_from_onnx(region.inputs[0]->elem_type);
  DEQUANT_TRY(plan.input, replacements_.of_input(*one.graph, *one.node,
                                                 before.value_or(Element::uint8), plan.type));
  add(one, plan.input);
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
  const auto [known, is_new] = plan.names.try_emplace(rewire_.scopes().find(*d.graph, name));
  if (!is_new) return {};
  const std::string_view original = original_name(name);
  known->second =
      rewire_.fresh_name(std::string(original.empty() ? std::string_view(name) : original) +
                         "_DequantizeLinear_Output");
  // A DequantizeLinear of the constant itself, as one that stood before the node that moves it.
  Node& made = model_.store.create<Node>() = *d.node;
  std::vector<Name> inputs(made.inputs.begin(), made.inputs.end());
  inputs[0].text = name;
  made.inputs = model_.store.array(std::span<const Name>(inputs));
  const Name output{model_.store.text(known->second)};
  made.outputs = model_.store.array(std::span<const Name>(&output, 1));
  made.next = nullptr;
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

}  // namespace dequant::format::onnx
