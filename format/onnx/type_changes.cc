// Changing the declared element types of values that were quantized.
#include "format/onnx/type_changes.h"

namespace dequant::format::onnx {

Status TypeChanges::change(const Graph& graph, const Node& node, Value& value, Element to,
                           std::vector<ChangedValue>& changed, std::optional<int64_t> moved_axis) {
  ChangedValue c;
  c.name = value.name.str();
  c.from = element_from_onnx(value.elem_type).value_or(Element::uint8);
  c.to = to;
  DEQUANT_TRY(c.scale, facts_.listed(graph, node, 1));
  DEQUANT_TRY(c.zero_point, facts_.listed(graph, node, 2));
  DEQUANT_TRY(const bool single, facts_.is_per_tensor(graph, node));
  const Attribute* axis = node.attribute("axis");
  if (!single) c.axis = moved_axis.value_or(axis == nullptr ? 1 : axis->i);
  changed.push_back(std::move(c));
  value.elem_type = onnx_code(to);
  write(value);
  return {};
}

void TypeChanges::write(const Value& value) {
  // Both types are varints of one byte, so the lengths of the messages around do not change.
  std::string field{'\x08', static_cast<char>(value.elem_type)};
  rewire_.edit().replace(value.frame, value.elem_type_field, {std::move(field)});
}

void TypeChanges::apply() {
  if (later_.empty()) return;
  for (const Graph* g : rewire_.scopes().graphs()) {
    for (Value& v : g->values) {
      const auto type = later_.find({g, std::string_view(v.name)});
      if (type == later_.end()) continue;
      v.elem_type = onnx_code(type->second);
      applied_.emplace_back(g, &v);
    }
  }
}

void TypeChanges::finish() {
  for (const auto& [graph, value] : applied_) {
    const Definition* d = rewire_.scopes().find(*graph, value->name);
    if (d != nullptr && d->node != nullptr && rewire_.removed(*d->node)) continue;
    if (can_set_type(*value)) {
      write(*value);
    } else {
      rewire_.edit().remove(value->frame, value->whole);
    }
  }
}

}  // namespace dequant::format::onnx
