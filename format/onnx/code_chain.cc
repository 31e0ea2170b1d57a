// The way of codes from a QuantizeLinear to a DequantizeLinear.
#include "format/onnx/code_chain.h"

#include <algorithm>

#include "dequant/codes.h"
#include "format/profile/code_ends.h"

namespace dequant::format::onnx {
namespace {

/// The lowest and the highest code of a type.
std::pair<int64_t, int64_t> all_codes(Element type) {
  const auto [lowest, highest] = codes_at_ends(type);
  return {static_cast<int64_t>(value_of(type, lowest)),
          static_cast<int64_t>(value_of(type, highest))};
}

int64_t clipped(int64_t code, const ClipLimits& limits) {
  if (limits.low) code = std::max(code, *limits.low);
  return limits.high ? std::min(code, *limits.high) : code;
}

/// True where all nodes of the chain give codes of the type; sets its limits.
Result<bool> passes_all(QuantizerFacts& facts, Element type, CodeChain& chain) {
  for (auto place = chain.between.rbegin(); place != chain.between.rend(); ++place) {
    const Node& node = *place->second;
    if (node.is("Cast") && node.attribute("to")->i != onnx_code(type)) return false;
    if (!node.is("Clip")) continue;
    DEQUANT_TRY(const auto limits, facts.clip_limits(*place->first, node, type));
    if (!limits) return false;
    const auto [low, high] = chain.limits.value_or(all_codes(type));
    chain.limits = {clipped(low, *limits), clipped(high, *limits)};
  }
  return true;
}

}  // namespace

bool may_pass_codes(const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty()) return false;
  if (node.is("Clip")) return node.inputs.size() <= 3;
  const bool passes = node.is("Identity") || (node.is("Cast") && node.attribute("to") != nullptr);
  return passes && node.inputs.size() == 1;
}

Result<CodeChain> chain_before(const Scopes& scopes, QuantizerFacts& facts, const Definition& x) {
  CodeChain chain;
  const Definition* at = &x;
  while (at != nullptr && at->node != nullptr && !at->node->is_quantize()) {
    if (!may_pass_codes(*at->node)) return CodeChain{};
    chain.between.emplace_back(at->graph, at->node);
    at = scopes.find(*at->graph, at->node->input(0));
  }
  if (at == nullptr || at->node == nullptr) return CodeChain{};
  DEQUANT_TRY(const bool passes,
              passes_all(facts, facts.quantized_type(*at->graph, *at->node), chain));
  if (!passes) return CodeChain{};
  chain.graph = at->graph;
  chain.quantize = at->node;
  return chain;
}

}  // namespace dequant::format::onnx
