// Nodes between constants other than QuantizeLinear and DequantizeLinear: those that move numbers,
// convert their type, limit codes, or multiply numbers once.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "format/onnx/dequantization.h"
#include "format/onnx/evaluation/array.h"

namespace dequant::format::onnx {

/// Computes the output of a node from the inputs of an Evaluation. Fails as cast() does.
using Compute = std::function<Result<Array>(const std::vector<Array>& inputs)>;

/// The output of a node with constant inputs. It is computed whenever it is read, so that only
/// tensors that are being read are in memory.
struct Evaluation {
  const Node* node = nullptr;
  ArrayType type;
  std::vector<Constant> inputs;  ///< that `compute` needs, in its order
  Compute compute;
  int nodes = 1;  ///< nodes that must be computed for the output, this one included
};

/// A node whose output is to be computed.
struct Call {
  const Model& model;
  ExternalFiles& files;
  const Node& node;
  int64_t opset = 0;  ///< of ai.onnx
  /// The constant inputs; none for those that the node leaves out.
  std::vector<std::optional<Constant>> inputs;
  int32_t like = 0;  ///< TensorProto.DataType of the second input; 0: unknown
};

/// A row of the table of operators.
struct EvaluatedOperator {
  std::string_view name;
  int64_t since;           ///< the oldest opset whose definition `plan` follows
  size_t inputs;           ///< at least
  size_t constant_inputs;  ///< of the first so many inputs the values must be constant
  Result<Constant> (*plan)(Call& call);
};

/// The row of a node's operator; null for an operator that is not evaluated.
const EvaluatedOperator* evaluated_operator(const Node& node);

/// The output of a node with such an operator, as a constant. Fails with invalid_argument,
/// unsupported or limit where the node cannot be evaluated, for the reason in the message, and with
/// malformed or io where the file is broken.
Result<Constant> plan_evaluation(const EvaluatedOperator& op, Call& call);

/// Bytes at most of the inputs and the output of a node, which are in memory at once.
inline constexpr int64_t kMostEvaluated = int64_t{1} << 30;

/// All numbers of a constant. Fails with limit for more than `most` bytes, and as open_constant()
/// does.
Result<Array> array_of(const Model& model, ExternalFiles& files, const Constant& constant,
                       int64_t most);

}  // namespace dequant::format::onnx
