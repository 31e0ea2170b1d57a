// A DequantizeLinear node whose inputs are constant: from a node to a plan and the tensors it takes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "dequant/plan.h"
#include "format/io/tensor_data.h"
#include "format/onnx/external.h"
#include "format/onnx/model.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// A constant: a tensor of the model, or a few floats written as an attribute.
struct Constant {
  const Tensor* tensor = nullptr;
  std::optional<TensorData> literal;
  const Attribute* attribute = nullptr;  ///< that holds the literal

  TensorType type() const {
    return literal ? literal->type()
                   : TensorType{tensor->element().value_or(Element::float32), tensor->dims};
  }

  /// The same for all that resolve to one place in the model.
  const void* identity() const {
    return literal ? static_cast<const void*>(attribute) : static_cast<const void*>(tensor);
  }
};

/// A constant, or why there is none.
struct Resolved {
  std::optional<Constant> constant;
  std::string reason;
};

/// What a Constant node yields.
Resolved constant_of(const Node& node);

/// Follows a name to a constant through Identity nodes, outwards from inner graphs. An initializer that
/// is a graph input counts only with `assume_const`.
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

/// Packed bytes of a constant; of x, scale and zero point.
int64_t stored_bytes(const Constant& constant);
int64_t stored_bytes(const Dequantization& d);

/// Counts the bytes of each constant once, however many nodes take it.
class DistinctBytes {
 public:
  /// Those of x, scale and zero point that were not added before.
  int64_t add(const Dequantization& d);

 private:
  int64_t add(const Constant& constant);

  std::unordered_set<const void*> seen_;
};

/// The granularity as a key: "per_tensor", "per_axis", "blocked", "strided".
std::string_view granularity_key(const Plan& plan);

/// The attribute block_size: 0 unless blocked.
inline int64_t block_size(const Plan& plan) {
  return plan.granularity == Granularity::blocked ? plan.block : 0;
}

/// A dequantization, or why the node must stay.
struct Decision {
  std::optional<Dequantization> dequantization;
  std::string reason;
};

/// Sets the plan of a node from the types of its inputs. Fails with the dialect's error.
Result<Plan> plan_node(const Graph& graph, const Node& node, const TensorType& x,
                       const TensorType& scale, const std::optional<TensorType>& zero_point);

/// Fails only when the file itself is broken.
Result<Decision> consider(Model& model, ExternalFiles& files, const Scopes& scopes, Graph& graph,
                          Node& node, bool assume_const);

}  // namespace dequant::format::onnx
