// Facts about QuantizeLinear and DequantizeLinear nodes that strip() needs.
#include "format/onnx/quantizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dequant/codes.h"
#include "format/io/errors.h"
#include "format/io/numbers.h"
#include "format/onnx/constant_reader.h"
#include "format/onnx/evaluation/call.h"
#include "format/onnx/evaluation/cast.h"
#include "format/profile/code_ends.h"

namespace dequant::format::onnx {
namespace {

constexpr int64_t kMostParameterBytes = int64_t{64} << 20;
/// Numbers at most that a report lists.
constexpr int64_t kMostListed = 1024;
/// Scales read at once; a multiple of 8.
constexpr int64_t kRoundedAtOnce = 4096;

int64_t number_of(const Node& node, std::string_view name, int64_t otherwise) {
  const Attribute* a = node.attribute(name);
  return a == nullptr ? otherwise : a->i;
}

/// The number of an attribute, or the attribute of its function that gives the number.
struct Given {
  int64_t number = 0;
  std::string_view reference;

  std::string text() const {
    return reference.empty() ? std::to_string(number)
                             : fmt::format("the attribute {} of its function", escaped(reference));
  }
  friend bool operator==(const Given&, const Given&) = default;
};

Given given(const Node& node, std::string_view name, int64_t otherwise) {
  const Attribute* a = node.attribute(name);
  if (a == nullptr) return {otherwise, {}};
  return a->reference.empty() ? Given{a->i, {}} : Given{0, a->reference};
}

std::string unlike(std::string_view name, const Given& d, const Given& q) {
  return fmt::format("its {} is {}, that of the QuantizeLinear before it is {}", name, d.text(),
                     q.text());
}

}  // namespace

/// The data of the constant of a name; nothing where there is no such constant.
Result<std::optional<TensorData>> QuantizerFacts::data_of(const Graph& graph,
                                                          std::string_view name) {
  DEQUANT_TRY(const Resolved r, constants_.resolve(graph, name));
  if (!r.constant || !r.constant->readable()) return std::optional<TensorData>();
  DEQUANT_TRY(TensorData data, read_constant(model_, files_, *r.constant, kMostParameterBytes));
  return std::optional(std::move(data));
}

Result<bool> QuantizerFacts::same_constant(const Graph& ga, std::string_view a, const Graph& gb,
                                           std::string_view b) {
  if (a.empty() && b.empty()) return true;
  if (a.empty() || b.empty()) {  // without a zero point it is 0
    DEQUANT_TRY(const auto data, a.empty() ? data_of(gb, b) : data_of(ga, a));
    return data && std::all_of(data->bytes.begin(), data->bytes.end(),
                               [](std::byte byte) { return byte == std::byte{0}; });
  }
  const Definition* da = scopes_.find(ga, a);
  if (da != nullptr && da == scopes_.find(gb, b)) return true;
  const Resolved ca = resolve_constant(scopes_, ga, a, true);
  const Resolved cb = resolve_constant(scopes_, gb, b, true);
  // The same tensor is equal to itself, also where a caller may override it.
  const Tensor* tensor = ca.constant ? ca.constant->tensor : nullptr;
  if (tensor != nullptr && cb.constant && tensor == cb.constant->tensor) return true;
  DEQUANT_TRY(const auto x, data_of(ga, a));
  DEQUANT_TRY(const auto y, data_of(gb, b));
  if (!x || !y || x->element != y->element || x->bytes != y->bytes) return false;
  DEQUANT_TRY(const int64_t count, element_count(x->shape));
  return x->shape == y->shape || (count == 1 && y->bytes.size() == x->bytes.size());
}

Result<bool> QuantizerFacts::same_constants(const Graph& qg, const Node& q, const Graph& dg,
                                            const Node& d) {
  for (const size_t input : {size_t{1}, size_t{2}}) {
    DEQUANT_TRY(const bool same, same_constant(qg, q.input(input), dg, d.input(input)));
    if (!same) return false;
  }
  return true;
}

Result<std::string> QuantizerFacts::difference(const Graph& qg, const Node& q, const Graph& dg,
                                               const Node& d) {
  DEQUANT_TRY(const bool same, same_constants(qg, q, dg, d));
  if (!same)
    return std::string("its scale or zero point is not that of the QuantizeLinear before it");
  DEQUANT_TRY(const bool single, is_per_tensor(dg, d));
  if (single) return std::string();  // the axis has no meaning
  const Given q_block = given(q, "block_size", 0);
  const Given d_block = given(d, "block_size", 0);
  if (q_block != d_block) return unlike("block_size", d_block, q_block);
  return difference_of_axes(qg, q, dg, d);
}

/// An axis that is counted from the back is the same as one from the front only at one rank.
Result<std::string> QuantizerFacts::difference_of_axes(const Graph& qg, const Node& q,
                                                       const Graph& dg, const Node& d) {
  const Given q_axis = given(q, "axis", 1);
  const Given d_axis = given(d, "axis", 1);
  if (q_axis == d_axis) return std::string();
  std::string reason = unlike("axis", d_axis, q_axis);
  const bool numbers = q_axis.reference.empty() && d_axis.reference.empty();
  if (!numbers || (q_axis.number < 0) == (d_axis.number < 0)) return reason;
  const std::pair<const Graph*, Text> values[] = {
      {&qg, q.input(0)}, {&qg, q.output(0)}, {&dg, d.input(0)}, {&dg, d.output(0)}};
  for (const auto& [graph, name] : values) {
    DEQUANT_TRY(const auto shape, told_.of(*graph, name));
    if (!shape) continue;
    const auto from_front = [rank = static_cast<int64_t>(shape->size())](int64_t axis) {
      return axis < 0 ? axis + rank : axis;
    };
    return from_front(q_axis.number) == from_front(d_axis.number) ? std::string() : reason;
  }
  return reason + ", and the model does not tell the number of dimensions";
}

Result<bool> QuantizerFacts::same_parameters(const Graph& qg, const Node& q, const Graph& dg,
                                             const Node& d) {
  DEQUANT_TRY(const std::string different, difference(qg, q, dg, d));
  return different.empty();
}

/// The type of a constant, also of one that a caller may override.
std::optional<Element> QuantizerFacts::constant_type(const Graph& graph,
                                                     std::string_view name) const {
  const Resolved stored = resolve_constant(scopes_, graph, name, true);
  if (stored.constant) return stored.constant->type().element;
  const auto r = constants_.resolve(graph, name);
  return r && r->constant && r->constant->readable() ? std::optional(r->constant->type().element)
                                                     : std::nullopt;
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
  if (const int64_t code = number_of(d, "output_dtype", 0); code != 0) {
    return element_from_onnx(code).value_or(Element::float32);
  }
  if (const auto scale = constant_type(graph, d.input(1))) return *scale;
  return type_of(graph, d.input(1)).value_or(Element::float32);
}

Element QuantizerFacts::quantized_type(const Graph& graph, const Node& q) const {
  if (!q.input(2).empty()) {
    if (const auto zero = constant_type(graph, q.input(2))) return *zero;
    return type_of(graph, q.input(2)).value_or(Element::uint8);
  }
  const int64_t code = number_of(q, "output_dtype", 0);
  return element_from_onnx(code).value_or(Element::uint8);
}

std::optional<Element> QuantizerFacts::source_type(const Graph& graph, const Node& q) const {
  if (const auto type = type_of(graph, q.input(0))) return type;
  const auto scale = constant_type(graph, q.input(1));
  return scale && is_output(*scale) ? scale : std::nullopt;
}

Result<bool> QuantizerFacts::is_per_tensor(const Graph& graph, const Node& node) {
  DEQUANT_TRY(const Resolved scale, constants_.resolve(graph, node.input(1)));
  if (!scale.constant) return false;
  const auto count = element_count(scale.constant->type().shape);
  return count && *count == 1;
}

Result<std::string> QuantizerFacts::degenerate_scale(const Graph& graph, const Node& node) {
  DEQUANT_TRY(const auto scales, data_of(graph, node.input(1)));
  if (!scales || !(is_output(scales->element) || scales->element == Element::float8e8m0)) {
    return std::string();
  }
  DEQUANT_TRY(const int64_t count, element_count(scales->shape));
  std::string_view what;
  for_each_number(
      scales->element, scales->bytes,
      [&](double s) {
        if (!what.empty() || (std::isfinite(s) && s != 0)) return;
        what = std::isnan(s) ? "NaN" : s == 0 ? "zero" : "infinite";
      },
      count);
  if (what.empty()) return std::string();
  return fmt::format("{} is {}, so the pair turns numbers into zeros, infinities or NaN",
                     count == 1 ? "its scale" : "one of its scales", what);
}

Result<std::optional<ClipLimits>> QuantizerFacts::clip_limits(const Graph& graph, const Node& clip,
                                                              Element type) {
  const std::optional<ClipLimits> none;
  const bool defined = graph.opsets.onnx.value_or(0) >= evaluated_operator(clip)->since;
  if (!defined || !can_clip(onnx_code(type)) || constants_.is_redefined(clip)) return none;
  ClipLimits limits;
  for (const size_t input : {size_t{1}, size_t{2}}) {
    if (clip.input(input).empty()) continue;
    DEQUANT_TRY(const auto data, data_of(graph, clip.input(input)));
    if (!data || data->element != type) return none;
    DEQUANT_TRY(const int64_t count, element_count(data->shape));
    if (count != 1) return none;
    const double number = value_of(type, load_code(type, data->bytes, 0));
    (input == 1 ? limits.low : limits.high) = static_cast<int64_t>(number);
  }
  return std::optional(limits);
}

Result<PairRange> QuantizerFacts::range(const Graph& graph, const Node& node, Element quantized,
                                        Element output, const CodeLimits& limits) {
  PairRange range;
  const auto unknown = [&](std::string reason) {
    range.unknown = std::move(reason);
    return range;
  };
  DEQUANT_TRY(const Resolved scale, constants_.resolve(graph, node.input(1)));
  if (!scale.constant) return unknown(scale.reason);
  DEQUANT_TRY(const auto scales, data_of(graph, node.input(1)));
  if (!scales || !(is_output(scales->element) || scales->element == Element::float8e8m0) ||
      !is_output(output) || !is_input(quantized)) {
    return unknown("its scale is no float");
  }
  std::optional<TensorData> zeros;
  if (!node.input(2).empty()) {
    DEQUANT_TRY(const Resolved zero, constants_.resolve(graph, node.input(2)));
    if (!zero.constant) return unknown(zero.reason);
    DEQUANT_TRY(zeros, data_of(graph, node.input(2)));
  }
  DEQUANT_TRY(const int64_t count, element_count(scales->shape));
  const auto zero_bytes = packed_bytes(quantized, count);
  if (zeros && (!zero_bytes || zeros->element != quantized ||
                static_cast<int64_t>(zeros->bytes.size()) != *zero_bytes)) {
    return unknown("its zero points are not those of its scales");
  }
  range.single = count == 1;
  range.low = -std::numeric_limits<double>::infinity();
  range.high = range.step = std::numeric_limits<double>::infinity();
  for_each_number(
      scales->element, scales->bytes,
      [&](double s) { range.step = std::min(range.step, std::abs(s)); }, count);
  const auto add = [&](const Ends& e) {
    const size_t size = e.bytes.size() / 2;
    const bool ascends = e.first <= e.second;  // false with a negative scale
    const auto low = ascends ? e.bytes.first(size) : e.bytes.last(size);
    const auto high = ascends ? e.bytes.last(size) : e.bytes.first(size);
    range.low = std::max(range.low, std::min(e.first, e.second));
    range.high = std::min(range.high, std::max(e.first, e.second));
    range.low_bytes.assign(low.begin(), low.end());
    range.high_bytes.assign(high.begin(), high.end());
  };
  auto codes = codes_at_ends(quantized);
  if (limits) codes = {static_cast<uint32_t>(limits->first), static_cast<uint32_t>(limits->second)};
  CodeEnds ends(quantized, scales->element, zeros.has_value(), output,
                std::min(kRoundedAtOnce, count), codes);
  for (int64_t begin = 0; begin < count; begin += kRoundedAtOnce) {
    const int64_t n = std::min(kRoundedAtOnce, count - begin);
    const auto part = [&](const TensorData& data) {
      return std::span<const std::byte>(data.bytes)
          .subspan(static_cast<size_t>(begin * bits(data.element) / 8));
    };
    const auto zero_part = zeros ? part(*zeros) : std::span<const std::byte>();
    if (auto status = ends.visit(part(*scales), zero_part, n, add); !status) {
      return unknown(status.error().message);
    }
  }
  return range;
}

Result<Listed> QuantizerFacts::listed(const Graph& graph, const Node& node, size_t input) {
  if (input == 2 && node.input(2).empty()) return Listed{true, {0}};
  DEQUANT_TRY(const auto data, data_of(graph, node.input(input)));
  if (!data) return Listed{};
  DEQUANT_TRY(const int64_t count, element_count(data->shape));
  if (count > kMostListed) return Listed{};
  Listed out{true, {}};
  for_each_number(
      data->element, data->bytes, [&](double v) { out.numbers.push_back(v); }, count);
  return out;
}

Result<std::optional<std::vector<int64_t>>> QuantizerFacts::integers(const Graph& graph,
                                                                     std::string_view name) {
  std::optional<std::vector<int64_t>> none;
  DEQUANT_TRY(const Resolved r, constants_.resolve(graph, name));
  if (!r.constant) return none;
  const ArrayType type = r.constant->array_type();
  const auto count = count_of(type);
  const bool is_integer = type.data_type == kInt64 || type.data_type == onnx_code(Element::int32);
  if (!is_integer || !count || *count > kMostListed) return none;
  DEQUANT_TRY(const Array array,
              array_of(model_, files_, *r.constant, kMostListed * int64_t{sizeof(int64_t)}));
  DEQUANT_TRY(auto numbers, onnx::integers(array));
  return std::optional(std::move(numbers));
}

}  // namespace dequant::format::onnx
