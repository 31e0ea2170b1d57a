// What strip() needs to know of a quantizing or dequantizing node.
#include "format/onnx/quantizer.h"

#include <algorithm>

#include "dequant/plan.h"
#include "format/io/numbers.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {
namespace {

constexpr int64_t kMostParameterBytes = int64_t{64} << 20;
constexpr int kDeepestSearch = 64;

int64_t int_attribute(const Node& node, std::string_view name, int64_t otherwise) {
  const Attribute* a = node.attribute(name);
  return a == nullptr ? otherwise : a->i;
}

bool one_of(std::string_view op, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

}  // namespace

/// The data of a constant; nothing where the name is none.
Result<std::optional<TensorData>> QuantizerFacts::data_of(const Graph& graph, std::string_view name,
                                                          bool assume_const) {
  Resolved r = resolve_constant(scopes_, graph, name, assume_const);
  if (r.constant && r.constant->literal) return std::move(r.constant->literal);
  if (!r.constant || !r.constant->tensor->element()) return std::optional<TensorData>();
  DEQUANT_TRY(TensorData data,
              read_tensor_data(model_.source, files_, *r.constant->tensor, kMostParameterBytes));
  return std::optional(std::move(data));
}

Result<bool> QuantizerFacts::same_constant(const Graph& ga, std::string_view a, const Graph& gb,
                                           std::string_view b) {
  if (a.empty() && b.empty()) return true;
  if (a.empty() || b.empty()) {  // a zero point left out is zero
    DEQUANT_TRY(const auto data,
                a.empty() ? data_of(gb, b, assume_const_) : data_of(ga, a, assume_const_));
    return data && std::all_of(data->bytes.begin(), data->bytes.end(),
                               [](std::byte byte) { return byte == std::byte{0}; });
  }
  const Definition* da = scopes_.find(ga, a);
  if (da != nullptr && da == scopes_.find(gb, b)) return true;
  const Resolved ca = resolve_constant(scopes_, ga, a, true);
  const Resolved cb = resolve_constant(scopes_, gb, b, true);
  if (!ca.constant || !cb.constant) return false;
  // One tensor is the same twice, even if the caller puts another in its place.
  if (ca.constant->tensor != nullptr && ca.constant->tensor == cb.constant->tensor) return true;
  DEQUANT_TRY(const auto x, data_of(ga, a, assume_const_));
  DEQUANT_TRY(const auto y, data_of(gb, b, assume_const_));
  if (!x || !y || x->element != y->element || x->bytes != y->bytes) return false;
  return x->shape == y->shape || x->bytes.size() * 8 == static_cast<size_t>(bits(x->element));
}

Result<bool> QuantizerFacts::same_parameters(const Graph& qg, const Node& q, const Graph& dg,
                                             const Node& d) {
  for (const size_t input : {size_t{1}, size_t{2}}) {
    DEQUANT_TRY(const bool same, same_constant(qg, q.input(input), dg, d.input(input)));
    if (!same) return false;
  }
  const Resolved scale = resolve_constant(scopes_, dg, d.input(1), true);
  if (scale.constant) {
    const auto scales = element_count(scale.constant->type().shape);
    if (scales && *scales == 1) return true;  // per tensor, where the axis means nothing
  }
  return int_attribute(q, "axis", 1) == int_attribute(d, "axis", 1) &&
         int_attribute(q, "block_size", 0) == int_attribute(d, "block_size", 0);
}

std::optional<Element> QuantizerFacts::type_of(const Graph& graph, std::string_view name) const {
  const Definition* d = scopes_.find(graph, name);
  if (d == nullptr) return std::nullopt;
  if (d->initializer() != nullptr) return d->initializer()->tensor.element();
  for (const auto* values : {&d->graph->inputs, &d->graph->outputs, &d->graph->values}) {
    for (const Value& v : *values) {
      if (v.name == name && v.elem_type != 0) return element_from_onnx(v.elem_type);
    }
  }
  if (d->node != nullptr && d->node->is_dequantize()) return output_type(*d->graph, *d->node);
  return std::nullopt;
}

Element QuantizerFacts::output_type(const Graph& graph, const Node& d) const {
  if (const int64_t code = int_attribute(d, "output_dtype", 0); code != 0) {
    return element_from_onnx(code).value_or(Element::float32);
  }
  const Resolved scale = resolve_constant(scopes_, graph, d.input(1), true);
  if (scale.constant) return scale.constant->type().element;
  return type_of(graph, d.input(1)).value_or(Element::float32);
}

Element QuantizerFacts::quantized_type(const Graph& graph, const Node& q) const {
  if (!q.input(2).empty()) {
    const Resolved zero = resolve_constant(scopes_, graph, q.input(2), true);
    if (zero.constant) return zero.constant->type().element;
    return type_of(graph, q.input(2)).value_or(Element::uint8);
  }
  const int64_t code = int_attribute(q, "output_dtype", 0);
  return element_from_onnx(code).value_or(Element::uint8);
}

std::optional<Element> QuantizerFacts::source_type(const Graph& graph, const Node& q) const {
  if (const auto type = type_of(graph, q.input(0))) return type;
  const Resolved scale = resolve_constant(scopes_, graph, q.input(1), true);
  if (scale.constant && is_output(scale.constant->type().element))
    return scale.constant->type().element;
  return std::nullopt;
}

Result<std::optional<QuantizerFacts::LowestZero>> QuantizerFacts::lowest_zero(const Graph& graph,
                                                                              const Node& q,
                                                                              Element output) {
  const std::optional<LowestZero> none;
  const Element element = quantized_type(graph, q);
  if (kind(element) == Kind::floating || bits(element) > 16) return none;
  const uint32_t codes = uint32_t{1} << bits(element);
  const uint32_t lowest = kind(element) == Kind::signed_integer ? codes / 2 : 0;
  bool found = lowest == 0;  // the zero point where none is given
  if (!q.input(2).empty()) {
    DEQUANT_TRY(const auto zeros, data_of(graph, q.input(2), true));
    if (!zeros || zeros->element != element) return none;
    DEQUANT_TRY(const int64_t count, element_count(zeros->shape));
    found = false;
    for_each_number(
        element, zeros->bytes,
        [&](double zero) { found = found || zero == value_of(element, lowest); }, count);
  }
  if (!found) return none;

  DEQUANT_TRY(const auto scale, data_of(graph, q.input(1), true));
  if (!scale || scale->bytes.size() * 8 != static_cast<size_t>(bits(scale->element))) {
    return std::optional<LowestZero>(LowestZero{});
  }
  if (!is_output(scale->element) && scale->element != Element::float8e8m0) return none;
  bool positive = false;
  for_each_number(scale->element, scale->bytes, [&](double s) { positive = s > 0; });
  if (!positive) return none;
  const uint32_t highest = lowest ^ (codes - 1);
  Plan plan;
  plan.input = element;
  plan.scale = scale->element;
  plan.output = output;
  plan.has_zero_point = true;
  TensorData largest{output, {}, std::vector<std::byte>(static_cast<size_t>(bits(output)) / 8)};
  DEQUANT_CHECK(run(plan,
                    {std::as_bytes(std::span(&highest, 1)), scale->bytes,
                     std::as_bytes(std::span(&lowest, 1)), largest.bytes},
                    {sequential_executor(), Stores::cached}));
  return std::optional<LowestZero>(LowestZero{std::move(largest)});
}

bool QuantizerFacts::cannot_be_negative(const Graph& graph, std::string_view name, bool operand,
                                        int depth) const {
  const Definition* d = scopes_.find(graph, name);
  if (d == nullptr || depth > kDeepestSearch) return false;
  if (d->node == nullptr) {
    const bool inner =
        d->kind == Definition::Kind::input && (d->graph->owner != nullptr || d->graph->is_function);
    return !operand && !inner;
  }
  const Node& n = *d->node;
  if (clips_.contains(&n)) return true;
  const auto input_is = [&](const Name& input, bool is_operand) {
    return cannot_be_negative(*d->graph, input.text, is_operand, depth + 1);
  };
  if (one_of(n.op_type(),
             {"Relu", "Sigmoid", "Softmax", "HardSigmoid", "Softplus", "Abs", "Sqrt", "Exp"})) {
    return true;
  }
  if (one_of(n.op_type(),
             {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Reshape", "Flatten",
              "Transpose", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Slice", "Gather",
              "ReduceMean", "ReduceMax", "QuantizeLinear", "DequantizeLinear"})) {
    // A quantized input of the model may well stand for negative numbers.
    return !n.inputs.empty() && input_is(n.inputs[0], operand || n.is_dequantize());
  }
  if (one_of(n.op_type(), {"Concat", "Add", "Mul", "Max"})) {
    const bool arithmetic = n.op_type() == "Add" || n.op_type() == "Mul";
    return std::all_of(n.inputs.begin(), n.inputs.end(),
                       [&](const Name& input) { return input_is(input, operand || arithmetic); });
  }
  return false;
}

}  // namespace dequant::format::onnx
