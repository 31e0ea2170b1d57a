// Bounds of the values of a graph, found without running the model.
#include "format/onnx/value_range.h"

#include <algorithm>
#include <cmath>

#include "format/io/numbers.h"
#include "format/model/stream.h"
#include "format/onnx/constant_reader.h"

namespace dequant::format::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Elements of a constant read at once; a multiple of 8.
constexpr int64_t kStep = int64_t{1} << 16;
constexpr int64_t kMemory = int64_t{64} << 20;

/// Operators whose output has bounds for any input.
struct Bounded {
  std::string_view op;
  double low;
  double high;
};
constexpr Bounded kBounded[] = {{"Sigmoid", 0, 1},     {"HardSigmoid", 0, 1},
                                {"Softmax", 0, 1},     {"Tanh", -1, 1},
                                {"Softsign", -1, 1},   {"Erf", -1, 1},
                                {"Sin", -1, 1},        {"Cos", -1, 1},
                                {"Exp", 0, kInfinity}, {"Softplus", 0, kInfinity}};

/// Operators whose outputs are numbers of their first input, or between such numbers.
constexpr std::string_view kPassing[] = {"Identity",
                                         "Reshape",
                                         "Flatten",
                                         "Transpose",
                                         "Squeeze",
                                         "Unsqueeze",
                                         "Expand",
                                         "Tile",
                                         "Slice",
                                         "Split",
                                         "Gather",
                                         "GatherElements",
                                         "GatherND",
                                         "Compress",
                                         "DepthToSpace",
                                         "SpaceToDepth",
                                         "MaxPool",
                                         "GlobalMaxPool",
                                         "GlobalAveragePool",
                                         "ReduceMax",
                                         "ReduceMin",
                                         "ReduceMean",
                                         "TopK",
                                         "ReverseSequence"};

/// The same, but outputs may also be zero.
constexpr std::string_view kPassingWithZero[] = {"AveragePool", "Trilu"};

/// Operators with several inputs, and operators that change their input, of which bounds are known.
constexpr std::string_view kJoining[] = {"Concat", "Where", "Add", "Sum",
                                         "Sub",    "Mul",   "Max", "Min"};
constexpr std::string_view kChanging[] = {"Relu", "Clip", "Pad", "Abs", "Neg", "Sqrt"};

/// Operators whose outputs do not depend only on their inputs.
constexpr std::string_view kRandom[] = {"RandomNormalLike", "RandomUniformLike", "Bernoulli",
                                        "Multinomial", "Dropout"};

template <size_t N>
bool one_of(std::string_view op, const std::string_view (&ops)[N]) {
  return std::find(std::begin(ops), std::end(ops), op) != std::end(ops);
}

bool is_standard(const Node& node) { return node.domain().empty() || node.domain() == "ai.onnx"; }

/// Bytes of memory for a value whose bounds are known.
constexpr int64_t kValueMemory = 128;

ValueRange unknown() { return {}; }

ValueRange between(double low, double high) {
  ValueRange r;
  if (!std::isnan(low)) r.low = low;
  if (!std::isnan(high)) r.high = high;
  return r;
}

/// The bounds of the numbers of both. They are open above only where one of them is.
ValueRange both(const ValueRange& a, const ValueRange& b) {
  ValueRange r = between(std::min(a.low, b.low), std::max(a.high, b.high));
  r.open_above = r.high == kInfinity && (a.open_above || a.high < kInfinity) &&
                 (b.open_above || b.high < kInfinity);
  if (!r.open_above) return r;
  for (const ValueRange* part : {&a, &b})
    r.bounded_high = std::max(r.bounded_high, part->open_above ? part->bounded_high : part->high);
  return r;
}

ValueRange sum(const ValueRange& a, const ValueRange& b) {
  return between(a.low + b.low, a.high + b.high);
}

ValueRange negative(const ValueRange& a) { return between(-a.high, -a.low); }

ValueRange product(const ValueRange& a, const ValueRange& b) {
  const auto times = [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; };
  const auto [low, high] = std::minmax(
      {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
  return between(low, high);
}

ValueRange absolute(const ValueRange& a) {
  const double high = std::max(std::abs(a.low), std::abs(a.high));
  return between(std::max({a.low, -a.high, 0.0}), high);
}

/// The bounds behind a Clip whose limits have these bounds.
ValueRange clipped(const ValueRange& a, const std::optional<ValueRange>& low,
                   const std::optional<ValueRange>& high) {
  const ValueRange l = low.value_or(between(-kInfinity, -kInfinity));
  const ValueRange h = high.value_or(between(kInfinity, kInfinity));
  ValueRange r =
      between(std::min(std::max(a.low, l.low), h.low), std::min(std::max(a.high, l.high), h.high));
  r.open_above = !high && low && a.high == kInfinity;
  if (r.open_above && a.open_above) r.bounded_high = std::max(a.bounded_high, l.high);
  return r;
}

}  // namespace

/// The bounds of an input of a node; infinite for a missing input.
Result<ValueRange> ValueRanges::input(const Graph& graph, const Node& node, size_t i) {
  const Definition* d = scopes_.find(graph, node.input(i));
  return d != nullptr && known_.contains(d) ? bounds(*d) : unknown();
}

/// The bounds of a known value; computes them in the first call.
Result<ValueRange> ValueRanges::bounds(const Definition& d) {
  Known& known = known_[&d];
  if (!known.measured) {
    DEQUANT_TRY(ValueRange range, measured(d));
    range.constant = known.range.constant;
    known = {range, true};
  }
  return known.range;
}

Result<ValueRange> ValueRanges::of(const Graph& graph, std::string_view name) {
  const Definition* wanted = scopes_.find(graph, name);
  if (wanted == nullptr) return unknown();
  // Inputs come before the nodes that read them. A list avoids recursion along long chains.
  std::vector<std::pair<const Definition*, bool>> todo{{wanted, false}};
  while (!todo.empty()) {
    const auto [d, ready] = todo.back();
    if (known_.contains(d)) {
      todo.pop_back();
      continue;
    }
    if (ready || d->node == nullptr) {
      todo.pop_back();
      DEQUANT_CHECK(model_.take(kValueMemory));
      DEQUANT_TRY(known_[d], look_at(*d));
      continue;
    }
    todo.back().second = true;
    for (const Name& i : d->node->inputs) {
      const Definition* in = i.text.empty() ? nullptr : scopes_.find(*d->graph, i.text);
      if (in != nullptr && !known_.contains(in)) todo.emplace_back(in, false);
    }
  }
  return bounds(*wanted);
}

void ValueRanges::set(const Graph& graph, std::string_view output, const ValueRange& range) {
  if (const Definition* d = scopes_.find(graph, output); d != nullptr) known_[d] = {range, true};
}

Result<ValueRanges::Known> ValueRanges::look_at(const Definition& d) {
  Known known;
  known.range.constant = d.kind != Definition::Kind::input;
  known.measured = d.kind != Definition::Kind::initializer;
  if (d.node != nullptr) return of_node(d);
  return known;
}

Result<ValueRanges::Known> ValueRanges::of_node(const Definition& d) {
  const Node& node = *d.node;
  Known known;
  if (node.is("Constant")) {
    known.range.constant = true;
    known.measured = false;
    return known;
  }
  if (node.is_dequantize()) {
    known.measured = false;
  } else if (is_standard(node)) {
    DEQUANT_TRY(known.range, of_operator(*d.graph, node));
  }
  bool constant = !node.inputs.empty() && !one_of(node.op_type(), kRandom);
  for (const Name& i : node.inputs) {
    const Definition* in = i.text.empty() ? nullptr : scopes_.find(*d.graph, i.text);
    if (!i.text.empty()) constant = constant && in != nullptr && known_[in].range.constant;
  }
  for (const Attribute& a : node.attributes) constant = constant && a.graphs.empty();
  known.range.constant = constant;
  return known;
}

Result<ValueRange> ValueRanges::measured(const Definition& d) {
  if (d.node != nullptr && d.node->is_dequantize()) return of_dequantized(*d.graph, *d.node);
  const Resolved r = d.node != nullptr
                         ? constant_of(*d.node)
                         : resolve_constant(scopes_, *d.graph, d.initializer()->tensor.name, false);
  return r.constant ? measured(*r.constant) : unknown();
}

Result<ValueRange> ValueRanges::of_operator(const Graph& graph, const Node& node) {
  const std::string_view op = node.op_type();
  for (const Bounded& b : kBounded) {
    if (op == b.op) return between(b.low, b.high);
  }
  if (node.inputs.empty()) return unknown();
  if (one_of(op, kJoining)) return of_several(graph, node);
  const bool passes = one_of(op, kPassing) || (op == "Dropout" && node.input(2).empty());
  if (!passes && !one_of(op, kPassingWithZero) && !one_of(op, kChanging)) return unknown();

  DEQUANT_TRY(const ValueRange x, input(graph, node, 0));
  if (passes) return x;
  if (op == "Relu") return clipped(x, between(0, 0), std::nullopt);
  if (op == "Clip") return of_clip(graph, node);
  if (op == "Pad") return of_pad(graph, node);
  if (op == "Abs") return absolute(x);
  if (op == "Neg") return negative(x);
  if (op == "Sqrt") {
    return between(std::sqrt(std::max(x.low, 0.0)), std::sqrt(std::max(x.high, 0.0)));
  }
  return both(x, between(0, 0));
}

Result<ValueRange> ValueRanges::of_several(const Graph& graph, const Node& node) {
  const std::string_view op = node.op_type();
  const size_t first = op == "Where" ? 1 : 0;  // the first input is the condition
  DEQUANT_TRY(ValueRange range, input(graph, node, first));
  for (size_t i = first + 1; i < node.inputs.size(); ++i) {
    DEQUANT_TRY(const ValueRange next, input(graph, node, i));
    if (op == "Concat" || op == "Where") range = both(range, next);
    if (op == "Add" || op == "Sum") range = sum(range, next);
    if (op == "Sub") range = sum(range, negative(next));
    if (op == "Mul") range = product(range, next);
    if (op == "Max")
      range = between(std::max(range.low, next.low), std::max(range.high, next.high));
    if (op == "Min")
      range = between(std::min(range.low, next.low), std::min(range.high, next.high));
  }
  return range;
}

Result<ValueRange> ValueRanges::of_clip(const Graph& graph, const Node& node) {
  std::optional<ValueRange> low;
  std::optional<ValueRange> high;
  if (!node.input(1).empty()) {
    DEQUANT_TRY(low, input(graph, node, 1));
  }
  if (!node.input(2).empty()) {
    DEQUANT_TRY(high, input(graph, node, 2));
  }
  for (const Attribute& a : node.attributes) {  // before opset 11
    if (a.floats.size() != 1) continue;
    const double limit{a.floats[0]};
    if (a.name == "min") low = between(limit, limit);
    if (a.name == "max") high = between(limit, limit);
  }
  DEQUANT_TRY(const ValueRange x, input(graph, node, 0));
  return clipped(x, low, high);
}

/// In every mode, padding has numbers of x, or a constant. Before opset 11 the constant is an
/// attribute.
Result<ValueRange> ValueRanges::of_pad(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2) return unknown();
  ValueRange padding = between(0, 0);
  if (!node.input(2).empty()) {
    DEQUANT_TRY(padding, input(graph, node, 2));
  }
  DEQUANT_TRY(const ValueRange x, input(graph, node, 0));
  return both(x, padding);
}

/// The bounds of the numbers of constant codes; else those that type and parameters allow.
Result<ValueRange> ValueRanges::of_dequantized(Graph& graph, Node& node) {
  DEQUANT_TRY(const Decision decision, constants_.consider(graph, node));
  Extent extent;
  if (decision.dequantization) {
    const Dequantization& d = *decision.dequantization;
    const auto add = [&](std::span<const std::byte> part) -> Status {
      for_each_number(d.plan.output, part, [&](double v) { extent.add(v); });
      return {};
    };
    const StreamOptions options{.memory = kMemory};
    DEQUANT_TRY(RecipeReaders readers, open_inputs(model_, files_, d, parameter_memory(options)));
    DEQUANT_CHECK(stream(d.plan, std::move(readers), options, add));
  } else {
    DEQUANT_TRY(const auto parameters, parameters_.find(graph, node));
    if (parameters) extent = parameters->covered;
  }
  return extent.numbers == 0 ? unknown() : between(extent.least, extent.greatest);
}

Result<ValueRange> ValueRanges::measured(const Constant& constant) {
  if (!constant.readable() || !is_output(constant.type().element)) return unknown();
  DEQUANT_TRY(const auto reader, open_constant(model_, files_, constant, kMemory));
  Extent extent;
  while (reader->left() > 0) {
    const int64_t count = std::min(kStep, reader->left());
    DEQUANT_TRY(const auto part, reader->next(count));
    for_each_number(
        reader->element(), part, [&](double v) { extent.add(v); }, count);
  }
  DEQUANT_CHECK(reader->finish());
  return extent.numbers == 0 ? unknown() : between(extent.least, extent.greatest);
}

}  // namespace dequant::format::onnx
