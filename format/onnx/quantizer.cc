// What strip() needs to know of a quantizing or dequantizing node.
#include "format/onnx/quantizer.h"

#include <algorithm>
#include <array>
#include <cstring>

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

Result<bool> QuantizerFacts::same_constant(const Graph& ga, std::string_view a, const Graph& gb,
                                           std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  if (scopes_.find(ga, a) == scopes_.find(gb, b)) return true;
  const Resolved ca = resolve_constant(scopes_, ga, a, true);
  const Resolved cb = resolve_constant(scopes_, gb, b, true);
  if (!ca.constant || !cb.constant || ca.constant->literal || cb.constant->literal) return false;
  const Tensor& ta = *ca.constant->tensor;
  const Tensor& tb = *cb.constant->tensor;
  if (&ta == &tb) return true;
  if (ta.data_type != tb.data_type || ta.dims != tb.dims || !ta.element()) return false;
  DEQUANT_TRY(const TensorData da,
              read_tensor_data(model_.source, files_, ta, kMostParameterBytes));
  DEQUANT_TRY(const TensorData db,
              read_tensor_data(model_.source, files_, tb, kMostParameterBytes));
  return da.bytes == db.bytes;
}

Result<bool> QuantizerFacts::same_parameters(const Graph& qg, const Node& q, const Graph& dg,
                                             const Node& d) {
  for (const size_t input : {size_t{1}, size_t{2}}) {
    DEQUANT_TRY(const bool same, same_constant(qg, q.input(input), dg, d.input(input)));
    if (!same) return false;
  }
  return int_attribute(q, "axis", 1) == int_attribute(d, "axis", 1) &&
         int_attribute(q, "block_size", 0) == int_attribute(d, "block_size", 0);
}

std::optional<Element> QuantizerFacts::type_of(const Graph& graph, std::string_view name) const {
  const Definition* d = scopes_.find(graph, name);
  if (d == nullptr) return std::nullopt;
  if (d->initializer != nullptr) return d->initializer->tensor.element();
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

Result<std::optional<QuantizerFacts::LowestZero>> QuantizerFacts::lowest_zero(const Graph& graph,
                                                                              const Node& node) {
  const std::optional<LowestZero> none;
  const Resolved scale = resolve_constant(scopes_, graph, node.input(1), true);
  if (!scale.constant || scale.constant->type().element != Element::float32) return none;
  const auto scales = element_count(scale.constant->type().shape);
  if (!scales || *scales != 1) return none;

  Element element = quantized_type(graph, node);
  uint64_t zero = 0;
  if (!node.input(2).empty()) {
    const Resolved point = resolve_constant(scopes_, graph, node.input(2), true);
    if (!point.constant || point.constant->literal || !point.constant->tensor->element())
      return none;
    DEQUANT_TRY(
        const TensorData data,
        read_tensor_data(model_.source, files_, *point.constant->tensor, kMostParameterBytes));
    element = data.element;
    if (data.bytes.empty() || data.bytes.size() > sizeof zero) return none;
    std::memcpy(&zero, data.bytes.data(), data.bytes.size());
  }
  if (kind(element) == Kind::floating || bits(element) > 16) return none;
  const uint64_t codes = uint64_t{1} << bits(element);
  zero &= codes - 1;
  const uint64_t lowest = kind(element) == Kind::signed_integer ? codes / 2 : 0;
  if (zero != lowest) return none;

  float s = 0;
  if (scale.constant->literal) {
    std::memcpy(&s, scale.constant->literal->bytes.data(), sizeof s);
  } else {
    DEQUANT_TRY(
        const TensorData data,
        read_tensor_data(model_.source, files_, *scale.constant->tensor, kMostParameterBytes));
    std::memcpy(&s, data.bytes.data(), sizeof s);
  }
  if (!(s > 0)) return none;
  return std::optional<LowestZero>(LowestZero{static_cast<float>(codes - 1) * s});
}

bool QuantizerFacts::cannot_be_negative(const Graph& graph, std::string_view name,
                                        int depth) const {
  const Definition* d = scopes_.find(graph, name);
  if (d == nullptr || depth > kDeepestSearch) return false;
  if (d->node == nullptr) return true;  // an input or a constant: nothing was dropped before it
  const Node& n = *d->node;
  if (clips_.contains(&n)) return true;
  if (one_of(n.op_type,
             {"Relu", "Sigmoid", "Softmax", "HardSigmoid", "Softplus", "Abs", "Sqrt", "Exp"})) {
    return true;
  }
  if (one_of(n.op_type,
             {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Reshape", "Flatten",
              "Transpose", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Slice", "Gather",
              "ReduceMean", "ReduceMax", "QuantizeLinear", "DequantizeLinear"})) {
    return cannot_be_negative(*d->graph, n.input(0), depth + 1);
  }
  if (one_of(n.op_type, {"Concat", "Add", "Mul", "Max"})) {
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](const Name& input) {
      return cannot_be_negative(*d->graph, input.text, depth + 1);
    });
  }
  return false;
}

}  // namespace dequant::format::onnx
