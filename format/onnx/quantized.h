// Operators with quantized inputs or outputs, which keep a model quantized.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// Why an operator stays that --strip-qdq replaces.
inline constexpr const char* kArithmetic = "its arithmetic is quantized (strip-qdq replaces it)";

/// Recognises the quantized operators of a model: QuantizeLinear and DequantizeLinear, operators of
/// ONNX and ONNX Runtime with quantized inputs or outputs (QLinearConv, MatMulNBits ...), and
/// operators of other domains with such a name.
class QuantizedOperators {
 public:
  explicit QuantizedOperators(const Model& model);

  /// Why the node keeps the model quantized; empty if it does not. Empty for calls of the model's
  /// functions, as the nodes of the function have reasons of their own.
  std::string_view reason(const Node& node) const;

 private:
  bool calls_function(const Node& node) const;

  /// Domain and name of functions, in domains of which no runtime has operators.
  std::set<std::pair<std::string_view, std::string_view>> functions_;
};

/// Why a Cast keeps the model quantized: it makes numbers of a constant of a type that only codes
/// have (floats of 8 bits and less, integers of 2 and 4 bits), which other nodes may have moved.
/// Empty for all other nodes.
std::string cast_of_codes(const Scopes& scopes, const Graph& graph, const Node& node);

/// How often each operator occurs.
using OperatorCounts = std::map<std::string, int64_t>;

/// The most frequent operators as text: "13 MatMulNBits, 2 QLinearConv".
std::string counts_text(const OperatorCounts& counts);

}  // namespace dequant::format::onnx
