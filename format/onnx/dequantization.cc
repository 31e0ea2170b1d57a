// DequantizeLinear and QuantizeLinear nodes whose inputs are constant.
#include "format/onnx/dequantization.h"

#include <cstring>

#include "dequant/microsoft.h"
#include "dequant/onnx.h"
#include "format/io/errors.h"
#include "format/onnx/evaluation/evaluation.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {
namespace {

TensorData floats(std::span<const float> values, bool scalar) {
  TensorData data{Element::float32, {}, {}};
  if (!scalar) data.shape = {static_cast<int64_t>(values.size())};
  data.bytes.resize(values.size_bytes());
  std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return data;
}

/// What an input of a graph is, as a part of a reason.
std::string_view which_input(const Graph& graph) {
  if (graph.is_function) {
    return "an input of its function, which each call may give another value "
           "(onnx.inliner.inline_local_functions gives each call nodes of its own)";
  }
  return graph.owner == nullptr ? "an input of the graph" : "an input of its subgraph";
}

/// True for a table that the specification of an operator has, and no model.
bool is_of_operator(const Constant& constant) {
  return constant.literal && constant.attribute == nullptr;
}

}  // namespace

Status for_each_int_attribute(
    const Node& node, const std::function<Status(const std::string& name, int64_t value)>& visit) {
  for (size_t i = 0; i < node.attributes.size(); ++i) {
    const Attribute& a = node.attributes[i];
    if (a.name.starts_with("__")) continue;  // remarks by convention
    for (size_t k = 0; k < i; ++k) {
      if (node.attributes[k].name == a.name) {
        return failure(ErrorCode::invalid_argument, "{}: given twice", escaped(a.name));
      }
    }
    const bool is_int = a.type == static_cast<int64_t>(AttributeType::int_) || a.type == 0;
    if (!is_int) {
      return failure(ErrorCode::invalid_argument, "{}: not an integer attribute", escaped(a.name));
    }
    DEQUANT_CHECK(visit(escaped(a.name), a.i));
  }
  return {};
}

int32_t Constant::data_type() const {
  if (evaluated) return evaluated->type.data_type;
  if (computed) return onnx_code(computed->type().element);
  return literal ? onnx_code(literal->element) : tensor->data_type;
}

TensorType Constant::type() const {
  TensorType type{element_from_onnx(data_type()).value_or(Element::float32), {}};
  if (shape) {
    type.shape = *shape;
  } else if (evaluated) {
    type.shape = evaluated->type.shape;
  } else if (computed) {
    type.shape = computed->type().shape;
  } else {
    type.shape = literal ? Shape(literal->shape) : Shape(tensor->dims);
  }
  if (packed) type.element = *packed;
  return type;
}

ArrayType Constant::array_type() const {
  const Shape sizes = type().shape;
  return {data_type(), {sizes.begin(), sizes.end()}};
}

int Constant::nodes() const {
  if (evaluated) return evaluated->nodes;
  return computed ? computed->nodes : 0;
}

const void* Constant::identity() const {
  if (evaluated) return evaluated->node;
  if (computed) return computed->inputs.node;
  return literal ? static_cast<const void*>(attribute) : static_cast<const void*>(tensor);
}

int64_t stored_bytes(const Constant& constant) {
  if (is_of_operator(constant)) return 0;
  if (constant.computed) return stored_bytes(constant.computed->inputs);
  int64_t sum = 0;
  if (constant.evaluated) {
    for (const Constant& input : constant.evaluated->inputs) sum += stored_bytes(input);
    return sum;
  }
  const auto bytes = bytes_of(constant.array_type());
  return bytes ? *bytes : 0;
}

int64_t stored_bytes(const Dequantization& d) {
  int64_t bytes = stored_bytes(d.x);
  d.for_each_parameter([&](const Constant& c) { bytes += stored_bytes(c); });
  return bytes;
}

void for_each_source(const Constant& constant, const SourceVisitor& visitor) {
  if (is_of_operator(constant)) return;
  if (constant.computed) return for_each_source(constant.computed->inputs, visitor);
  if (constant.evaluated) {
    for (const Constant& input : constant.evaluated->inputs) for_each_source(input, visitor);
    return;
  }
  visitor(constant.identity(), stored_bytes(constant));
}

void for_each_source(const Dequantization& d, const SourceVisitor& visitor) {
  for_each_source(d.x, visitor);
  d.for_each_parameter([&](const Constant& c) { for_each_source(c, visitor); });
}

std::string computed_by(std::string_view name, const Node& node) {
  return fmt::format("{} is computed by {}", escaped(name), escaped(node.op_type()));
}

Resolved constant_of(const Node& node) {
  if (node.attributes.size() != 1) return {{}, "comes from a Constant node without a single value"};
  const Attribute& a = node.attributes[0];
  if (!a.reference.empty())
    return {{}, "comes from a Constant node that takes a function's attribute"};
  if (a.name == "value" && a.tensor) return {Constant{&*a.tensor, {}}, {}};
  if (a.name == "value_float" && a.floats.size() == 1) {
    return {Constant{nullptr, floats(a.floats, true), &a}, {}};
  }
  if (a.name == "value_floats") return {Constant{nullptr, floats(a.floats, false), &a}, {}};
  return {{},
          fmt::format("comes from a Constant node with {}, which dequant does not read",
                      escaped(a.name))};
}

Resolved resolve_constant(const Scopes& scopes, const Graph& graph, std::string_view name,
                          bool assume_const) {
  const Graph* from = &graph;
  for (;;) {  // ends: build() found no cycle
    Definition* d = scopes.find(*from, name);
    if (d == nullptr) return {{}, fmt::format("{} is defined nowhere", escaped(name))};
    if (d->hides || d->hidden) {
      return {{},
              fmt::format("{} is also the name of a value of a graph {} this one", escaped(name),
                          d->hides ? "around" : "within")};
    }
    switch (d->kind) {
      case Definition::Kind::initializer:
        if (d->overridable && !assume_const) {
          return {{},
                  fmt::format(
                      "{} is a graph input and can be overridden (assume-const takes its value)",
                      escaped(name))};
        }
        return {Constant{&d->initializer()->tensor, {}}, {}};
      case Definition::Kind::sparse_initializer:
        return {{}, fmt::format("{} is a sparse initializer", escaped(name))};
      case Definition::Kind::input:
        return {{}, fmt::format("{} is {}", escaped(name), which_input(*d->graph)), nullptr, true};
      case Definition::Kind::node: break;
    }
    // Rewire may have changed the input of the last Identity, so the loop goes on from there.
    if (const Definition* last = scopes.last(*d); last != nullptr && last->is_identity()) {
      name = last->node->inputs[0].text;
      from = last->graph;
      continue;
    }
    const Node& node = *d->node;
    if (!node.is("Constant")) {
      return {{}, computed_by(name, node), d, true};
    }
    Resolved r = constant_of(node);
    if (r.constant) return r;
    r.reason = fmt::format("{} {}", escaped(name), r.reason);
    const bool integers = node.attribute("value_int") || node.attribute("value_ints");
    if (integers) r.computed = d;
    return r;
  }
}

Result<Plan> plan_node(const Graph& graph, const Node& node, const TensorType& x,
                       const TensorType& scale, const std::optional<TensorType>& zero_point) {
  if (node.domain() == "com.microsoft") {
    ::dequant::microsoft::DequantizeLinear n{
        graph.opsets.microsoft.value_or(1), x, scale, zero_point, {}};
    DEQUANT_CHECK(for_each_int_attribute(node, [&](const std::string& name, int64_t value) {
      return ::dequant::microsoft::set_attribute(n, name, value);
    }));
    return ::dequant::microsoft::dequantize_linear(n);
  }
  if (!graph.opsets.onnx) {
    return failure(ErrorCode::invalid_argument, "the model imports no ai.onnx operator set");
  }
  ::dequant::onnx::DequantizeLinear n{*graph.opsets.onnx, x, scale, zero_point, {}, {}, {}};
  DEQUANT_CHECK(for_each_int_attribute(node, [&](const std::string& name, int64_t value) {
    return ::dequant::onnx::set_attribute(n, name, value);
  }));
  return ::dequant::onnx::dequantize_linear(n);
}

}  // namespace dequant::format::onnx
