// Decides what replaces a pair of QuantizeLinear and DequantizeLinear that is removed.
#include "format/onnx/pair_replacement.h"

#include <algorithm>

#include "format/io/errors.h"

namespace dequant::format::onnx {
namespace {

/// True for operators that move or repeat numbers and compute none: quantized numbers stay
/// quantized.
bool moves(const Node& node) {
  static constexpr std::string_view kMoving[] = {
      "Identity",  "Reshape",        "Flatten",  "Transpose", "Squeeze",
      "Unsqueeze", "Expand",         "Tile",     "Slice",     "Split",
      "Gather",    "GatherElements", "GatherND", "MaxPool",   "Compress"};
  const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
  return standard && !node.inputs.empty() &&
         std::find(std::begin(kMoving), std::end(kMoving), std::string_view(node.op_type())) !=
             std::end(kMoving);
}

/// True where the range of the pair does not change the value but for rounding, which may exceed an
/// end by a step. The upper end counts only for numbers with an upper bound: behind a Relu that end
/// is just the largest number of a calibration.
bool is_inside(const ValueRange& value, const PairRange& range) {
  if (value.low < range.low - range.step) return false;
  if (value.open_above && value.low > range.high) return false;
  return (value.open_above ? value.bounded_high : value.high) <= range.high + range.step;
}

}  // namespace

Result<PairReplacement> PairReplacements::of_pair(const Graph& graph, const Node& q, Element output,
                                                  const CodeLimits& limits) {
  PairReplacement replacement;
  DEQUANT_TRY(replacement.stays, facts_.degenerate_scale(graph, q));
  if (!replacement.stays.empty()) return replacement;
  DEQUANT_TRY(const ValueRange value, ranges_.of(graph, q.input(0)));
  if (!value.constant)
    return choose(graph, q, facts_.quantized_type(graph, q), output, value, limits);
  DEQUANT_TRY(const bool same, is_quantized_already(graph, q));
  if (!same || limits) {
    replacement.stays = fmt::format("{} is computed from constants, and quantized would be others",
                                    escaped(q.input(0)));
  }
  return replacement;
}

Result<PairReplacement> PairReplacements::of_input(const Graph& graph, const Node& d,
                                                   Element quantized, Element output) {
  PairReplacement replacement;
  DEQUANT_TRY(replacement.stays, facts_.degenerate_scale(graph, d));
  return replacement.stays.empty() ? choose(graph, d, quantized, output, {}) : replacement;
}

Result<PairReplacement> PairReplacements::choose(const Graph& graph, const Node& node,
                                                 Element quantized, Element output,
                                                 const ValueRange& value,
                                                 const CodeLimits& limits) {
  PairReplacement replacement;
  replacement.limits = limits;
  if (clips_ == Clips::never) return replacement;
  DEQUANT_TRY(replacement.range, facts_.range(graph, node, quantized, output, limits));
  if (!replacement.range.unknown.empty()) {
    replacement.stays =
        fmt::format("the range to keep is not known: {}", replacement.range.unknown);
    return replacement;
  }
  replacement.clip = clips_ == Clips::always || !is_inside(value, replacement.range);
  if (replacement.clip && !graph.opsets.onnx) {
    replacement.stays = "a Clip needs an ai.onnx operator set, which the model does not import";
  } else if (replacement.clip && !replacement.range.single) {
    replacement.stays = "each slice has a range of its own, which no single Clip keeps";
  }
  return replacement;
}

/// True if the input of a QuantizeLinear comes from a DequantizeLinear with the same parameters,
/// through nodes that only move numbers.
Result<bool> PairReplacements::is_quantized_already(const Graph& graph, const Node& q) {
  DEQUANT_TRY(const bool single, facts_.is_per_tensor(graph, q));
  const Definition* at = rewire_.scopes().find(graph, q.input(0));
  while (single && at != nullptr && at->node != nullptr && moves(*at->node)) {
    at = rewire_.scopes().find(*at->graph, at->node->input(0));
  }
  if (!single || at == nullptr || at->node == nullptr || !at->node->is_dequantize() ||
      rewire_.replaced(*at->node)) {
    return false;
  }
  const Node& d = *at->node;
  DEQUANT_TRY(const Resolved codes, constants_.resolve(*at->graph, d.input(0)));
  if (!codes.constant || codes.constant->type().element != facts_.quantized_type(graph, q)) {
    return false;
  }
  return facts_.same_parameters(graph, q, *at->graph, d);
}

}  // namespace dequant::format::onnx
