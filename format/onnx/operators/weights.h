// Operators that dequantize a constant weight themselves: their weights become float constants, and
// float operators read these.
//
// To add such an operator: a file in this folder with a WeightOperator, and its line in weights.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/onnx/made_node.h"
#include "format/onnx/operators/operands.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// A row of the table of such operators.
struct WeightOperator {
  std::string_view domain;
  std::string_view type;
  size_t codes;  ///< the index of the input with the codes of the weight
  /// The dequantization of the weight, without graph and node. Sets Operands::reason() where the
  /// operator stays as it is. Fails with malformed or io.
  Result<Dequantization> (*plan)(Operands& in);
  /// The nodes that do what the operator does with a float weight of this name.
  Result<std::vector<MadeNode>> (*nodes)(Operands& in, const std::string& weight, Rewire& rewire);
};

extern const WeightOperator kMatMulNBits;

/// The row of a node's operator, or null.
const WeightOperator* weight_operator(const Node& node);

/// The dequantization of the weight of such an operator, or why the operator stays. Fails with
/// malformed or io.
Result<Decision> consider_weight(const WeightOperator& op, Operands& in);

/// Replaces the operator by float nodes. The first of the made nodes that are returned stands for
/// the weight; its output is the name of the constant. Fails with malformed or io.
Result<std::vector<Node*>> replace_by_float(const WeightOperator& op, Operands& in, Rewire& rewire);

}  // namespace dequant::format::onnx
