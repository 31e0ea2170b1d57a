// Finding the constants of a model.
#include "format/onnx/constants.h"

#include <algorithm>

#include "format/io/errors.h"
#include "format/model/ranges.h"
#include "format/onnx/constant_reader.h"
#include "format/onnx/evaluation/cast_constant.h"
#include "format/onnx/quantization.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {
namespace {

/// Bytes of zero points at most, which are checked before anything is written.
constexpr int64_t kMostZeroPointBytes = int64_t{64} << 20;
/// Nodes at most from which one constant is computed. Real models have two: a pair of a weight, or
/// blocks of scales that are themselves dequantized.
constexpr int kMostComputed = 16;
/// Computations that are kept for other nodes that have the same inputs.
constexpr size_t kMostRemembered = size_t{1} << 14;
/// Elements read at once; a multiple of 8.
constexpr int64_t kCopiedAtOnce = int64_t{1} << 16;

int count_computed(const Dequantization& d) {
  return 1 + d.x.nodes() + d.scale->nodes() + (d.zero_point ? d.zero_point->nodes() : 0);
}

}  // namespace

Result<Resolved> Constants::resolve(const Graph& graph, std::string_view name, int depth) {
  Resolved r = resolve_constant(scopes_, graph, name, assume_const_);
  if (r.constant || r.computed == nullptr) return r;
  Definition& definition = *r.computed;
  return resolve_computed(name, definition, std::move(r), depth);
}

/// `not_computed` is the result where the inputs of the node are not constant.
Result<Resolved> Constants::resolve_computed(std::string_view name, Definition& definition,
                                             Resolved not_computed, int depth) {
  Node& node = *definition.node;
  const EvaluatedOperator* op = evaluated_operator(node);
  if (op == nullptr && !node.is_quantize() && !node.is_dequantize()) return not_computed;
  if (depth == kMostComputed) {
    return Resolved{
        {}, fmt::format("{} is computed by more than {} nodes", escaped(name), kMostComputed)};
  }
  const auto by = [&](const std::string& reason) {
    return Resolved{
        {},
        fmt::format("{} is computed by {}: {}", escaped(name), escaped(node.op_type()), reason)};
  };
  if (op != nullptr) {
    if (is_redefined(node)) return not_computed;
    Resolved r;
    if (const auto it = evaluated_.find(&node); it != evaluated_.end()) {
      r = it->second;
    } else {
      DEQUANT_TRY(r, evaluate(*definition.graph, node, *op, depth));
      if (evaluated_.size() == kMostRemembered) evaluated_.clear();
      evaluated_.emplace(&node, r);
    }
    if (r.constant || (!r.varies && r.of_input)) return r;
    return r.varies ? std::move(not_computed) : by(r.reason);
  }
  std::shared_ptr<const Computation> known;
  if (const auto it = computed_.find(&node); it != computed_.end()) known = it->second;
  if (!known) {
    DEQUANT_TRY(Decision decision, consider(*definition.graph, node, depth + 1));
    if (!decision.dequantization) {
      if (decision.varies) return not_computed;
      return decision.of_input ? Resolved{{}, std::move(decision.reason)} : by(decision.reason);
    }
    Computation c{*std::move(decision.dequantization), node.is_quantize()};
    c.nodes = count_computed(c.inputs);
    if (c.nodes > kMostComputed) return by(fmt::format("of {} nodes and more", kMostComputed));
    known = std::make_shared<const Computation>(std::move(c));
    if (computed_.size() == kMostRemembered) computed_.clear();
    computed_.emplace(&node, known);
  }
  return Resolved{Constant{nullptr, {}, nullptr, known}, {}};
}

/// The output of a node of the table of operators. A reason lacks the name of the output.
Result<Resolved> Constants::evaluate(Graph& graph, Node& node, const EvaluatedOperator& op,
                                     int depth) {
  Call call{model_, files_, node, graph.opsets.onnx.value_or(0), {}, 0};
  int nodes = 1;
  for (size_t i = 0; i < std::min(node.inputs.size(), op.constant_inputs); ++i) {
    auto& input = call.inputs.emplace_back();
    if (node.input(i).empty()) continue;
    DEQUANT_TRY(Resolved r, resolve(graph, node.input(i), depth + 1));
    if (!r.constant) {
      r.of_input = true;
      r.computed = nullptr;
      return r;
    }
    if (r.constant->tensor != nullptr)
      DEQUANT_CHECK(check_stored(model_, files_, *r.constant->tensor));
    nodes += r.constant->nodes();
    if (nodes > kMostComputed) return Resolved{{}, fmt::format("of {} nodes and more", nodes)};
    input = *std::move(r.constant);
  }
  if (op.constant_inputs < op.inputs) {  // of the second input only the type matters
    DEQUANT_TRY(const Resolved like, resolve(graph, node.input(1), depth + 1));
    const Definition* d = scopes_.find(graph, node.input(1));
    if (like.constant) {
      call.like = like.constant->data_type();
    } else if (d != nullptr && d->value() != nullptr) {
      call.like = d->value()->elem_type;
    }
  }
  auto constant = plan_evaluation(op, call);
  if (constant) return Resolved{*std::move(constant), {}};
  Error error = std::move(constant).error();
  if (error.code == ErrorCode::malformed || error.code == ErrorCode::io) return error;
  return Resolved{{}, std::move(error.message)};
}

bool Constants::is_redefined(const Node& node) const {
  return std::any_of(model_.functions.begin(), model_.functions.end(), [&](const Graph& f) {
    return f.name == node.op_type() && (f.domain.empty() || f.domain == "ai.onnx");
  });
}

/// The constant inputs of a QuantizeLinear or DequantizeLinear, without a plan.
Result<Decision> Constants::inputs_of(Graph& graph, Node& node, int depth) {
  const auto stay = [](std::string reason) { return Decision{{}, std::move(reason)}; };
  if (node.inputs.size() < 2 || node.inputs.size() > 3 || node.outputs.size() != 1 ||
      node.input(0).empty() || node.input(1).empty() || node.outputs[0].text.empty()) {
    return stay(fmt::format("{} inputs and {} outputs, where 2 or 3 and 1 are allowed",
                            node.inputs.size(), node.outputs.size()));
  }
  Dequantization d{&graph, &node, {}, {}, {}, {}, {}};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.input(i).empty()) continue;
    DEQUANT_TRY(Resolved r, resolve(graph, node.input(i), depth));
    if (!r.constant) return Decision{{}, std::move(r.reason), r.varies, true};
    if (r.constant->data_type() == kInt64 && i != 1 && node.is_dequantize()) {
      auto codes = narrowed(model_, files_, node, *r.constant);
      if (!codes &&
          (codes.error().code == ErrorCode::malformed || codes.error().code == ErrorCode::io))
        return std::move(codes).error();
      if (!codes)
        return stay(
            fmt::format("{} has int64 codes: {}", escaped(node.input(i)), codes.error().message));
      r.constant = *std::move(codes);
    }
    if (!r.constant->readable()) {
      return stay(fmt::format("{} has data type {}, which dequant does not read",
                              escaped(node.input(i)), r.constant->data_type()));
    }
    if (i == 0) d.x = *std::move(r.constant);
    if (i == 1) d.scale = *std::move(r.constant);
    if (i == 2) d.zero_point = std::move(r.constant);
  }
  // Checks that the stored bytes have the size of the shape before any decision.
  for (const Tensor* t :
       {d.x.tensor, d.scale->tensor, d.zero_point ? d.zero_point->tensor : nullptr}) {
    if (t == nullptr) continue;
    DEQUANT_TRY(const auto reader, TensorReader::open(model_.source, files_, *t));
  }
  return Decision{std::move(d), {}};
}

Result<Decision> Constants::consider(Graph& graph, Node& node, int depth) {
  DEQUANT_TRY(Decision decision, inputs_of(graph, node, depth));
  if (!decision.dequantization) return decision;
  const auto stay = [](std::string reason) { return Decision{{}, std::move(reason)}; };
  Dequantization& d = *decision.dequantization;
  if (node.is_quantize()) {
    DEQUANT_TRY(std::string doubt, plan_quantize(d));
    return doubt.empty() ? std::move(decision) : stay(std::move(doubt));
  }
  if (d.x.literal || (d.zero_point && d.zero_point->literal)) {
    return stay("x or x_zero_point is a float attribute");
  }
  if (auto status = plan_dequantize(d); !status) return stay(status.error().message);
  DEQUANT_TRY(std::string reason, bad_zero_points(d));
  if (!reason.empty()) return stay(std::move(reason));
  return decision;
}

Status Constants::plan_dequantize(Dequantization& d) const {
  std::optional<TensorType> zero;
  if (d.zero_point) zero = d.zero_point->type();
  const TensorType x = d.x.type();
  DEQUANT_TRY(d.plan, plan_node(*d.graph, *d.node, x, d.scale->type(), zero));
  if (d.plan.granularity == Granularity::per_tensor) return {};
  const Attribute* axis = d.node->attribute("axis");
  d.axis = axis == nullptr ? 1 : axis->i;  // within the rank, as the plan was made with it
  if (*d.axis < 0) *d.axis += static_cast<int64_t>(x.shape.size());
  return {};
}

/// Returns why the node has no plan, or why other implementations may compute other codes.
Result<std::string> Constants::plan_quantize(Dequantization& d) const {
  std::optional<TensorType> zero;
  if (d.zero_point) zero = d.zero_point->type();
  auto node = onnx::plan_quantize(*d.graph, *d.node, d.x.type(), d.scale->type(), zero);
  if (!node) return std::string(node.error().message);
  d.plan = node->plan;
  d.axis = node->axis;
  d.division = node->division;
  DEQUANT_TRY(std::string reason, bad_zero_points(d));
  if (!reason.empty()) return reason;

  const Quantizer quantizer(d.plan, d.division);
  DEQUANT_TRY(const auto x, open_constant(model_, files_, d.x, kMostZeroPointBytes));
  DEQUANT_TRY(const ParameterReader scale,
              open_parameters(model_, files_, *d.scale, kMostZeroPointBytes));
  std::optional<ParameterReader> zeros;
  if (d.zero_point) {
    DEQUANT_TRY(zeros, open_parameters(model_, files_, *d.zero_point, kMostZeroPointBytes));
  }
  std::vector<std::byte> scale_slice;
  std::vector<std::byte> zero_slice;
  for (Range part; part.begin < element_count(d.plan); part.begin = part.end) {
    part.end = chunk_end(d.plan, part.begin, kCopiedAtOnce);
    DEQUANT_TRY(const auto values, x->next(part.end - part.begin));
    const Range groups = groups_of(d.plan, part);
    DEQUANT_TRY(const auto scales, scale.get(d.plan.scale, groups, scale_slice));
    std::span<const std::byte> zero_points;
    if (zeros) {
      DEQUANT_TRY(zero_points, zeros->get(d.plan.input, groups, zero_slice));
    }
    reason = quantizer.doubt(*node, part, values, scales, zero_points);
    if (!reason.empty()) return reason;
  }
  DEQUANT_CHECK(x->finish());
  return std::string();
}

Result<std::string> Constants::bad_zero_points(const Dequantization& d) const {
  if (!d.zero_point || kind(d.plan.input) != Kind::floating) return std::string();
  DEQUANT_TRY(const TensorData zeros,
              read_constant(model_, files_, *d.zero_point, kMostZeroPointBytes));
  const auto status = check_zero_points(d.plan, zeros.bytes);
  return status ? std::string() : std::string(status.error().message);
}

}  // namespace dequant::format::onnx
