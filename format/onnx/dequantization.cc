// A DequantizeLinear node whose inputs are constant: from a node to a plan and the tensors it takes.
#include "format/onnx/dequantization.h"

#include <cstring>

#include "dequant/microsoft.h"
#include "dequant/onnx.h"
#include "format/io/errors.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {
namespace {

/// Zero points are checked before anything is written; more of them than this nobody has.
constexpr int64_t kMostZeroPointBytes = int64_t{64} << 20;

TensorData floats(const std::vector<float>& values, bool scalar) {
  TensorData data{Element::float32, {}, {}};
  if (!scalar) data.shape = {static_cast<int64_t>(values.size())};
  data.bytes.resize(values.size() * sizeof(float));
  std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return data;
}

Status set_attributes(const Node& node, auto& dialect_node, auto set) {
  for (size_t i = 0; i < node.attributes.size(); ++i) {
    const Attribute& a = node.attributes[i];
    if (a.name.starts_with("__")) continue;  // by convention, notes that carry no meaning
    for (size_t k = 0; k < i; ++k) {
      if (node.attributes[k].name == a.name) {
        return failure(ErrorCode::invalid_argument, "{}: given twice", escaped(a.name));
      }
    }
    const bool is_int = a.type == static_cast<int64_t>(AttributeType::int_) || a.type == 0;
    if (!is_int) {
      return failure(ErrorCode::invalid_argument, "{}: not an integer attribute", escaped(a.name));
    }
    if (auto status = set(dialect_node, escaped(a.name), a.i); !status) return status;
  }
  return {};
}

}  // namespace

std::string_view granularity_key(const Plan& plan) {
  switch (plan.granularity) {
    case Granularity::per_tensor: return "per_tensor";
    case Granularity::per_axis: return "per_axis";
    case Granularity::blocked: return "blocked";
    case Granularity::strided: return "strided";
  }
  return {};
}

int64_t stored_bytes(const Constant& constant) {
  if (constant.literal) return static_cast<int64_t>(constant.literal->bytes.size());
  const auto count = element_count(constant.tensor->dims);
  const auto bytes = packed_bytes(constant.type().element, count ? *count : 0);
  return bytes ? *bytes : 0;
}

int64_t stored_bytes(const Dequantization& d) {
  return stored_bytes(d.x) + stored_bytes(d.scale) +
         (d.zero_point ? stored_bytes(*d.zero_point) : 0);
}

int64_t DistinctBytes::add(const Constant& constant) {
  return seen_.insert(constant.identity()).second ? stored_bytes(constant) : 0;
}

int64_t DistinctBytes::add(const Dequantization& d) {
  return add(d.x) + add(d.scale) + (d.zero_point ? add(*d.zero_point) : 0);
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
          fmt::format("comes from a Constant node with {}, which is no tensor", escaped(a.name))};
}

Resolved resolve_constant(const Scopes& scopes, const Graph& graph, std::string_view name,
                          bool assume_const) {
  const Graph* from = &graph;
  for (;;) {  // ends: build() found no cycle
    const Definition* d = scopes.find(*from, name);
    if (d == nullptr) return {{}, fmt::format("{} is defined nowhere", escaped(name))};
    switch (d->kind) {
      case Definition::Kind::initializer:
        if (d->overridable && !assume_const) {
          return {{},
                  fmt::format(
                      "{} is a graph input and can be overridden (assume-const takes its value)",
                      escaped(name))};
        }
        return {Constant{&d->initializer->tensor, {}}, {}};
      case Definition::Kind::sparse_initializer:
        return {{}, fmt::format("{} is a sparse initializer", escaped(name))};
      case Definition::Kind::input:
        return {{},
                fmt::format("{} is an input of {}", escaped(name),
                            d->graph->is_function        ? "its function"
                            : d->graph->owner == nullptr ? "the graph"
                                                         : "its subgraph")};
      case Definition::Kind::node: break;
    }
    // Rewire may have given the last Identity another input, so this goes on from there.
    if (d->last != nullptr && d->last->is_identity()) {
      name = d->last->node->inputs[0].text;
      from = d->last->graph;
      continue;
    }
    const Node& node = *d->node;
    if (!node.is("Constant")) {
      return {{}, fmt::format("{} is computed by {}", escaped(name), escaped(node.op_type))};
    }
    Resolved r = constant_of(node);
    if (!r.constant) r.reason = fmt::format("{} {}", escaped(name), r.reason);
    return r;
  }
}

Result<Plan> plan_node(const Graph& graph, const Node& node, const TensorType& x,
                       const TensorType& scale, const std::optional<TensorType>& zero_point) {
  if (node.domain == "com.microsoft") {
    ::dequant::microsoft::DequantizeLinear n{
        graph.opsets.microsoft.value_or(1), x, scale, zero_point, {}};
    DEQUANT_CHECK(set_attributes(node, n, ::dequant::microsoft::set_attribute));
    return ::dequant::microsoft::dequantize_linear(n);
  }
  if (!graph.opsets.onnx) {
    return failure(ErrorCode::invalid_argument, "the model imports no ai.onnx operator set");
  }
  ::dequant::onnx::DequantizeLinear n{*graph.opsets.onnx, x, scale, zero_point, {}, {}, {}};
  DEQUANT_CHECK(set_attributes(node, n, ::dequant::onnx::set_attribute));
  return ::dequant::onnx::dequantize_linear(n);
}

Result<Decision> consider(Model& model, ExternalFiles& files, const Scopes& scopes, Graph& graph,
                          Node& node, bool assume_const) {
  const auto stay = [](std::string reason) { return Decision{{}, std::move(reason)}; };
  if (node.inputs.size() < 2 || node.inputs.size() > 3 || node.outputs.size() != 1 ||
      node.input(0).empty() || node.input(1).empty() || node.outputs[0].text.empty()) {
    return stay(fmt::format("{} inputs and {} outputs, where 2 or 3 and 1 are allowed",
                            node.inputs.size(), node.outputs.size()));
  }
  Dequantization d{&graph, &node, {}, {}, {}, {}, {}};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.input(i).empty()) continue;
    Resolved r = resolve_constant(scopes, graph, node.input(i), assume_const);
    if (!r.constant) return stay(std::move(r.reason));
    if (r.constant->tensor != nullptr && !r.constant->tensor->element()) {
      return stay(fmt::format("{} has data type {}, which dequant does not read",
                              escaped(node.input(i)), r.constant->tensor->data_type));
    }
    if (i == 0) d.x = *std::move(r.constant);
    if (i == 1) d.scale = *std::move(r.constant);
    if (i == 2) d.zero_point = std::move(r.constant);
  }
  if (d.x.literal || (d.zero_point && d.zero_point->literal)) {
    return stay("x or x_zero_point is a float attribute");
  }

  // That the bytes are those of the shape is proved before anything is decided on them.
  for (const Tensor* t :
       {d.x.tensor, d.scale.tensor, d.zero_point ? d.zero_point->tensor : nullptr}) {
    if (t == nullptr) continue;
    DEQUANT_TRY(const auto reader, TensorReader::open(model.source, files, *t));
  }
  std::optional<TensorType> zero;
  if (d.zero_point) zero = d.zero_point->type();
  auto plan = plan_node(graph, node, d.x.type(), d.scale.type(), zero);
  if (!plan) return stay(plan.error().message);
  d.plan = *plan;
  if (d.plan.granularity != Granularity::per_tensor) {
    const Attribute* axis = node.attribute("axis");
    d.axis = axis == nullptr ? 1 : axis->i;  // within the rank: the plan was made of it
    if (*d.axis < 0) *d.axis += static_cast<int64_t>(d.x.tensor->dims.size());
  }

  if (d.zero_point && kind(d.plan.input) == Kind::floating) {
    DEQUANT_TRY(const TensorData zeros,
                read_tensor_data(model.source, files, *d.zero_point->tensor, kMostZeroPointBytes));
    if (auto status = check_zero_points(d.plan, zeros.bytes); !status)
      return stay(status.error().message);
  }
  return Decision{std::move(d), {}};
}

}  // namespace dequant::format::onnx
