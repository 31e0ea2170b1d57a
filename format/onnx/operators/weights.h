// Operators that dequantize a constant weight themselves: their weights become float constants, and
// float operators read these.
//
// To add such an operator: a file in this folder with a WeightOperator, and its line in weights.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/onnx/made_node.h"
#include "format/onnx/operators/operands.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// A weight of an operator.
struct Weight {
  size_t codes = 0;  ///< the index of the input with its codes
  Dequantization dequantization;
};

/// A row of the table of such operators.
struct WeightOperator {
  std::string_view domain;
  std::string_view type;
  size_t codes;  ///< the index of the input with the codes of the (first) weight
  /// The inputs that are codes, scales, zero points and the like: the weights are computed of them,
  /// and float operators do not read them.
  std::span<const size_t> quantized;
  /// The weights; of the dequantizations graph and node are not set. Sets Operands::reason() where
  /// the operator stays as it is. Fails with malformed or io.
  Result<std::vector<Weight>> (*plan)(Operands& in);
  /// The nodes that do what the operator does with float weights of these names.
  Result<std::vector<MadeNode>> (*nodes)(Operands& in, std::span<const std::string> weights,
                                         Rewire& rewire);
  size_t outputs = 1;  ///< at most
  /// It also quantizes activations: only strip-qdq replaces it.
  bool quantizes_activations = false;
};

extern const WeightOperator kDynamicQuantizeLstm;
extern const WeightOperator kGatherBlockQuantized;
extern const WeightOperator kGatherPacked;
extern const WeightOperator kMatMulBnb4;
extern const WeightOperator kMatMulNBits;
extern const WeightOperator kMatMulPacked;

/// The row of a node's operator, or null.
const WeightOperator* weight_operator(const Node& node);

/// True for an input of a node that is codes, a scale, a zero point or the like of one of its
/// weights.
bool is_of_weight(const Node& node, size_t input);

/// The name for the float constant of a weight, which may be taken: the name that the weight had
/// before it was quantized, where that of its codes shows it, or one made from that of its codes.
std::string weight_name(std::string_view codes);

/// The weights of such an operator, or none, and Operands::reason() says why the operator stays.
/// Fails with malformed or io.
Result<std::vector<Weight>> consider_weights(const WeightOperator& op, Operands& in);

/// Replaces the operator by float nodes. The first of the made nodes that are returned stand for
/// the weights, whose codes are these inputs; their outputs are the names of the constants. Fails
/// with malformed or io.
Result<std::vector<Node*>> replace_by_float(const WeightOperator& op, Operands& in,
                                            std::span<const size_t> codes, Rewire& rewire);

}  // namespace dequant::format::onnx
