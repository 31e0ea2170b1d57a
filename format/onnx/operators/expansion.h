// Replacing all operators of quantized arithmetic of a model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "format/onnx/operators/arithmetic.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// An operator that expand_all() has looked at.
struct Expanded {
  const Node& node;
  const ArithmeticOperator& op;
  std::vector<Node*> made;  ///< in its place
  std::string reason;       ///< why it stays; empty: it is replaced
};

/// What expand_all() calls.
struct ExpansionVisitor {
  /// True for an operator that may be replaced. expand_all() ends at the first error.
  std::function<Result<bool>(const Graph&, const Node&, const ArithmeticOperator&)> wanted;
  std::function<void(Expanded)> done;
};

/// Puts DequantizeLinear nodes, the float operator and a QuantizeLinear in the places of operators
/// of quantized arithmetic, where that is possible: see arithmetic.h and dynamic.h. Fails with
/// malformed, limit or io, and with the error of the visitor.
Status expand_all(Model& model, ExternalFiles& files, Constants& constants, Rewire& rewire,
                  const ExpansionVisitor& visitor);

}  // namespace dequant::format::onnx
