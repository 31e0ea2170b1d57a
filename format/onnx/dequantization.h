// A DequantizeLinear node whose inputs are constant: from a node to a plan and the tensors it
// takes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dequant/plan.h"
#include "format/io/tensor_data.h"
#include "format/model/tensor.h"
#include "format/onnx/external.h"
#include "format/onnx/model.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

struct Computation;

/// A constant: a tensor of the model, a few floats written as an attribute, or what a
/// QuantizeLinear or DequantizeLinear makes of constants.
struct Constant {
  const Tensor* tensor = nullptr;
  std::optional<TensorData> literal;
  const Attribute* attribute = nullptr;  ///< that holds the literal
  std::shared_ptr<const Computation> computed = nullptr;

  TensorType type() const;

  /// The same for all that resolve to one place in the model.
  const void* identity() const;

  /// Of the tensor; empty for others.
  std::string_view name() const {
    return tensor == nullptr ? std::string_view() : std::string_view(tensor->name);
  }
};

/// A constant, or why there is none.
struct Resolved {
  std::optional<Constant> constant;
  std::string reason;
  Definition* computed = nullptr;  ///< by a node that is no Constant
  bool varies = false;             ///< the value is computed or an input; false of a constant that
                                   ///< cannot be taken
};

/// What a Constant node yields.
Resolved constant_of(const Node& node);

/// Follows a name to a constant through Identity nodes, outwards from inner graphs. An initializer
/// that is a graph input counts only with `assume_const`.
Resolved resolve_constant(const Scopes& scopes, const Graph& graph, std::string_view name,
                          bool assume_const);

/// All that is needed to compute the output of one node.
struct Dequantization {
  Graph* graph = nullptr;
  Node* node = nullptr;
  Plan plan;
  std::optional<int64_t> axis;  ///< from the front; none if per tensor
  Constant x;
  Constant scale;
  std::optional<Constant> zero_point;
};

/// A QuantizeLinear or DequantizeLinear of constants, whose output is a constant too.
struct Computation {
  /// Of a QuantizeLinear the plan is that of the DequantizeLinear with the same parameters: x has
  /// the type plan.output, the output the type plan.input.
  Dequantization inputs;
  bool quantizes = false;
  int nodes = 1;  ///< how many are computed for it, itself included

  TensorType type() const {
    return {quantizes ? inputs.plan.input : inputs.plan.output, inputs.x.type().shape};
  }
};

/// Packed bytes of a constant, of those that a computed one is made of; of x, scale and zero point.
int64_t stored_bytes(const Constant& constant);
int64_t stored_bytes(const Dequantization& d);

/// Calls visitor(identity, bytes) for each constant that is stored, as deep as computations nest.
void for_each_source(const Constant& constant, const SourceVisitor& visitor);
void for_each_source(const Dequantization& d, const SourceVisitor& visitor);

/// Hands over all attributes but those that are notes. Fails with invalid_argument on one that is
/// given twice or is no integer.
Status for_each_int_attribute(
    const Node& node, const std::function<Status(const std::string& name, int64_t value)>& visit);

/// Sets the plan of a node from the types of its inputs. Fails with the dialect's error.
Result<Plan> plan_node(const Graph& graph, const Node& node, const TensorType& x,
                       const TensorType& scale, const std::optional<TensorType>& zero_point);

}  // namespace dequant::format::onnx
