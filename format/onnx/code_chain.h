// The way of codes from a QuantizeLinear to a DequantizeLinear.
#pragma once

#include <utility>
#include <vector>

#include "format/onnx/quantizer.h"

namespace dequant::format::onnx {

/// A QuantizeLinear, and the nodes between it and a DequantizeLinear that do not change its codes,
/// or limit them.
struct CodeChain {
  Graph* graph = nullptr;
  Node* quantize = nullptr;                         ///< null where there is no such chain
  std::vector<std::pair<Graph*, Node*>> between{};  ///< the last one first
  CodeLimits limits{};
};

/// True for a node that may stand in a CodeChain, with the codes as its first input: Identity, Cast
/// or Clip.
bool may_pass_codes(const Node& node);

/// Goes back from a quantized value through Identity nodes, Cast nodes to the type that the value
/// already has, as in exported models, and Clip nodes of codes with constant limits, as
/// quantization-aware training of fewer codes leaves them. Fails as QuantizerFacts does.
Result<CodeChain> chain_before(const Scopes& scopes, QuantizerFacts& facts, const Definition& x);

}  // namespace dequant::format::onnx
