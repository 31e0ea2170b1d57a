// The bounds of Clip nodes, and the ranges of quantized values that give these bounds.
#include "format/onnx/code_chain.h"
#include "format/onnx/onnx_file.h"
#include "format/onnx/readers.h"

namespace dequant::format::onnx {
namespace {

/// The inputs of a Clip with its bounds.
constexpr size_t kLow = 1;
constexpr size_t kHigh = 2;

bool is_bound(const Reader& r) {
  return r.node.is("Clip") && (r.input == kLow || r.input == kHigh);
}

/// The type of the codes of a QuantizeLinear or DequantizeLinear. `before` leads to the latter.
Element type_of_codes(const QuantizerFacts& facts, const Graph& graph, const Node& node,
                      const CodeChain& before) {
  if (before.quantize != nullptr) return facts.quantized_type(*before.graph, *before.quantize);
  if (node.is_quantize() || !node.input(2).empty()) return facts.quantized_type(graph, node);
  return facts.type_of(graph, node.input(0)).value_or(Element::uint8);
}

}  // namespace

Status OnnxFile::visit_bounds(const std::function<Status(const BoundTensor&)>& visitor) {
  for (const Graph* graph : scopes_.graphs()) {
    for (const Node& node : graph->nodes) {
      if (!node.is("Clip") || node.outputs.size() != 1) continue;
      for (const size_t input : {kLow, kHigh}) {
        const Text name = node.input(input);
        bool only_bounds = !name.empty();
        Readers(scopes_, *graph, name).for_each([&](const Reader& r) {
          only_bounds = only_bounds && is_bound(r);
        });
        if (only_bounds)
          DEQUANT_CHECK(visitor({name, node.output(0), input == kLow ? End::low : End::high}));
      }
    }
  }
  return {};
}

Result<std::optional<std::vector<std::byte>>> OnnxFile::bound_of(std::string_view value, End end,
                                                                 Element type) {
  const std::optional<std::vector<std::byte>> none;
  DEQUANT_CHECK(expand_rest());
  const Definition* found = nullptr;
  for (const Graph* graph : scopes_.graphs()) {
    const Definition* d = scopes_.find(*graph, value);
    if (d == nullptr || d == found) continue;
    if (found != nullptr) return none;
    found = d;
  }
  if (found == nullptr || found->node == nullptr) return none;
  const Node& node = *found->node;
  if (!node.is_quantize() && !node.is_dequantize()) return none;
  if (!chains_) {
    facts_.emplace(*model_, files_, scopes_, constants_);
    chains_.emplace(*model_, scopes_, *facts_);
  }
  CodeChain before;
  const Definition* codes = scopes_.find(*found->graph, node.input(0));
  if (node.is_dequantize() && codes != nullptr) {
    DEQUANT_TRY(before, chains_->before(*codes));
  }
  const Element quantized = type_of_codes(*facts_, *found->graph, node, before);
  DEQUANT_TRY(PairRange range, facts_->range(*found->graph, node, quantized, type, before.limits));
  if (!range.unknown.empty() || !range.single) return none;
  return std::optional(std::move(end == End::low ? range.low_bytes : range.high_bytes));
}

}  // namespace dequant::format::onnx
