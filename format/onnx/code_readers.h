// The nodes that read codes, also through nodes that move them or give them on.
#pragma once

#include <unordered_map>
#include <vector>

#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// Who reads codes.
struct CodeReading {
  bool as_codes = false;             ///< a node other than a DequantizeLinear, or an output
  const Node* dequantize = nullptr;  ///< a DequantizeLinear of them; null: there is none
};

/// Finds readers, in a graph whose readers of codes stay. Each value is looked at once, however
/// many values lead to it.
class CodeReaders {
 public:
  CodeReaders(Model& model, const Rewire& rewire) : model_(model), rewire_(rewire) {}

  /// The readers of a name. Fails with limit where Model::room is too small.
  Result<CodeReading> of(const Graph& graph, Text name);

 private:
  /// A value, and whether the values behind it have been looked at.
  struct Open {
    const Graph* graph;
    Text name;
    bool ready;
  };

  CodeReading direct(const Open& value, std::vector<Open>& behind) const;
  const Definition* find(const Open& value) const {
    return rewire_.scopes().find(*value.graph, value.name);
  }

  Model& model_;
  const Rewire& rewire_;
  std::unordered_map<const Definition*, CodeReading> known_;
};

}  // namespace dequant::format::onnx
