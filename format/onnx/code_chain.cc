// The way of codes from a QuantizeLinear to a DequantizeLinear.
#include "format/onnx/code_chain.h"

#include <algorithm>
#include <vector>

#include "format/profile/code_ends.h"

namespace dequant::format::onnx {
namespace {

/// Bytes of memory for a value whose chain is known.
constexpr int64_t kChainMemory = 96;

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

}  // namespace

bool may_pass_codes(const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty()) return false;
  if (node.is("Clip")) return node.inputs.size() <= 3;
  const bool passes = node.is("Identity") || (node.is("Cast") && node.attribute("to") != nullptr);
  return passes && node.inputs.size() == 1;
}

Result<CodeChain> CodeChains::before(const Definition& x) {
  CodeChain chain;
  std::vector<const Definition*> way;  // from x to the first value whose chain is known
  for (const Definition* at = &x; at != nullptr && at->node != nullptr;
       at = scopes_.find(*at->graph, at->node->input(0))) {
    const auto known = known_.find(at);
    if (known != known_.end()) chain = known->second;
    if (at->node->is_quantize()) chain = {at->graph, at->node, {}};
    if (known != known_.end() || !may_pass_codes(*at->node)) break;
    way.push_back(at);
  }
  for (auto d = way.rbegin(); d != way.rend(); ++d) {
    DEQUANT_CHECK(model_.take(kChainMemory));
    if (chain.quantize != nullptr) {
      DEQUANT_TRY(chain, behind(chain, **d));
    }
    known_.emplace(*d, chain);
  }
  return chain;
}

/// The chain behind one more node.
Result<CodeChain> CodeChains::behind(const CodeChain& before, const Definition& d) {
  const Node& node = *d.node;
  if (node.is("Identity")) return before;
  const Element type = facts_.quantized_type(*before.graph, *before.quantize);
  if (node.is("Cast")) {
    return node.attribute("to")->i == onnx_code(type) ? before : CodeChain{};
  }
  DEQUANT_TRY(const auto limits, facts_.clip_limits(*d.graph, node, type));
  if (!limits) return CodeChain{};
  CodeChain chain = before;
  const auto [low, high] = before.limits.value_or(all_codes(type));
  chain.limits = {clipped(low, *limits), clipped(high, *limits)};
  return chain;
}

}  // namespace dequant::format::onnx
