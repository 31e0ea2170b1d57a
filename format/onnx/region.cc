// Finding regions of quantized numbers.
#include "format/onnx/region.h"

#include "format/io/errors.h"
#include "format/onnx/moving.h"

namespace dequant::format::onnx {
namespace {

/// Bytes of memory for a value or a node of a region.
constexpr int64_t kPlaceMemory = 160;

Value* find_value(const List<Value>& values, Text name) {
  for (Value& v : values) {
    if (v.name == name) return &v;
  }
  return nullptr;
}

void set(std::string& obstacle, std::string reason) {
  if (obstacle.empty()) obstacle = std::move(reason);
}

}  // namespace

Result<Region> RegionFinder::find(Graph& graph, Node& node) {
  Region region;
  const bool quantizes = node.is_quantize();
  if (quantizes ? node.outputs.empty() : node.inputs.empty()) return region;
  todo_ = {{&graph, quantizes ? node.outputs[0].text : node.inputs[0].text}};
  while (!todo_.empty()) {
    const Open value = todo_.back();
    todo_.pop_back();
    DEQUANT_CHECK(enter(region, value));
  }
  return region;
}

Status RegionFinder::enter(Region& region, const Open& value) {
  const Definition* d = rewire_.scopes().find(*value.graph, value.name);
  if (d == nullptr || !seen_.insert(d).second) return {};
  DEQUANT_CHECK(model_.take(kPlaceMemory));
  region.values.emplace_back(d->graph, value.name);
  DEQUANT_CHECK(enter_producer(region, *d, value.name));
  for (const Use& use : rewire_.uses_of(*d->graph, value.name))
    DEQUANT_CHECK(enter_user(region, use, value.name));
  return {};
}

Status RegionFinder::enter_producer(Region& region, const Definition& d, Text name) {
  if (d.node != nullptr) {
    if (d.node->is_quantize()) {
      region.quantize.push_back({d.graph, d.node});
      if (!is_open_(*d.node))
        set(region.obstacle, fmt::format("{} was not selected", escaped(d.node->label())));
      return {};
    }
    const MovingOperator* op = moving_operator(*d.node);
    if (op != nullptr && carried_outputs(*op, *d.node) > 0)
      return enter_move(region, *d.graph, *d.node);
    set(region.obstacle, fmt::format("{} computes them", escaped(d.node->op_type())));
    return {};
  }
  if (d.value() != nullptr && d.graph == &model_.graph) {
    region.inputs.push_back(d.value());
  } else {
    set(region.obstacle, fmt::format("{} comes from outside", escaped(name)));
  }
  return {};
}

Status RegionFinder::enter_user(Region& region, const Use& use, Text name) {
  const auto as_codes = [&](std::string_view who) {
    set(region.obstacle, fmt::format("{} reads {} quantized", who, escaped(name)));
  };
  if (use.annotation()) {
    as_codes("an annotation");
    return {};
  }
  if (use.node == nullptr) {
    Value* output = use.graph == &model_.graph ? find_value(use.graph->outputs, name) : nullptr;
    if (output == nullptr) {
      as_codes("a graph around");
    } else {
      region.outputs.push_back(output);
    }
    return {};
  }
  Node& node = *use.node;
  if (node.is_dequantize() && use.input == 0) {
    region.dequantize.push_back({use.graph, &node});
    if (!is_open_(node))
      set(region.obstacle, fmt::format("{} was not selected", escaped(node.label())));
    return {};
  }
  const MovingOperator* op = moving_operator(node);
  if (op != nullptr && carries_input(*op, use.input)) return enter_move(region, *use.graph, node);
  if (!node.is("Shape") && !node.is("Size"))
    as_codes(fmt::format("{} ({})", escaped(node.label()), escaped(node.op_type())));
  return {};
}

Status RegionFinder::enter_move(Region& region, Graph& graph, Node& node) {
  if (!moves_.insert(&node).second) return {};
  DEQUANT_CHECK(model_.take(kPlaceMemory));
  region.moves.push_back({&graph, &node});
  const MovingOperator& op = *moving_operator(node);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!carries_input(op, i) || node.inputs[i].text.empty()) continue;
    DEQUANT_TRY(const Resolved r, constants_.resolve(graph, node.inputs[i].text));
    if (r.constant) {
      region.constants.push_back({{&graph, &node}, static_cast<uint32_t>(i)});
    } else {
      todo_.push_back({&graph, node.inputs[i].text});
    }
  }
  for (size_t i = 0; i < carried_outputs(op, node); ++i) {
    if (!node.outputs[i].text.empty()) todo_.push_back({&graph, node.outputs[i].text});
  }
  return {};
}

}  // namespace dequant::format::onnx
