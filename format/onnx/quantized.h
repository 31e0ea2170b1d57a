// Operators that make or take quantized numbers, and so keep a model quantized.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// Tells the quantized operators of a model: QuantizeLinear and DequantizeLinear, those of ONNX and
/// of ONNX Runtime whose inputs or outputs are quantized (QLinearConv, MatMulNBits ...), and those
/// of any other domain whose names say so.
class QuantizedOperators {
 public:
  explicit QuantizedOperators(const Model& model);

  /// Why the node keeps the model quantized; empty if it does not. A call of one of the model's
  /// functions does not: the nodes of the function may.
  std::string_view reason(const Node& node) const;

 private:
  bool calls_function(const Node& node) const;

  /// Domain and name; of domains for which no runtime has operators of its own.
  std::set<std::pair<std::string_view, std::string_view>> functions_;
};

/// How often each operator occurs.
using OperatorCounts = std::map<std::string, int64_t>;

/// "13 MatMulNBits, 2 QLinearConv": the most frequent first, and of many the first few.
std::string counts_text(const OperatorCounts& counts);

}  // namespace dequant::format::onnx
