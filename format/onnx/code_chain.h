// The way of codes from a QuantizeLinear to a DequantizeLinear.
#pragma once

#include <unordered_map>

#include "format/onnx/quantizer.h"

namespace dequant::format::onnx {

/// A QuantizeLinear from which codes come, through nodes that do not change them or limit them.
struct CodeChain {
  Graph* graph = nullptr;
  Node* quantize = nullptr;  ///< null where there is no such chain
  CodeLimits limits{};
};

/// True for a node that may stand in a CodeChain, with the codes as its first input: Identity, Cast
/// or Clip.
bool may_pass_codes(const Node& node);

/// Finds chains, in a graph whose nodes keep the inputs that have codes. Each node is looked at
/// once, however many chains lead through it.
class CodeChains {
 public:
  CodeChains(Model& model, const Scopes& scopes, QuantizerFacts& facts)
      : model_(model), scopes_(scopes), facts_(facts) {}

  /// Goes back from a quantized value through Identity nodes, Cast nodes to the type that the value
  /// already has, as in exported models, and Clip nodes of codes with constant limits, as
  /// quantization-aware training of fewer codes leaves them. Fails as QuantizerFacts does.
  Result<CodeChain> before(const Definition& x);

 private:
  Result<CodeChain> behind(const CodeChain& before, const Definition& d);

  Model& model_;
  const Scopes& scopes_;
  QuantizerFacts& facts_;
  std::unordered_map<const Definition*, CodeChain> known_;
};

}  // namespace dequant::format::onnx
