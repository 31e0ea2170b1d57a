// Nodes that dequantize constants, DequantizeLinear first of all, and QuantizeLinear nodes of
// constants: their plans and inputs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dequant/plan.h"
#include "format/io/tensor_data.h"
#include "format/model/tensor.h"
#include "format/onnx/evaluation/array.h"
#include "format/onnx/external.h"
#include "format/onnx/model.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

struct Computation;
struct Evaluation;

/// A constant: a tensor of the model, numbers in an attribute of a Constant node, the output of a
/// QuantizeLinear or DequantizeLinear whose inputs are constant, or of another node between
/// constants.
struct Constant {
  const Tensor* tensor = nullptr;
  std::optional<TensorData> literal = std::nullopt;
  const Attribute* attribute = nullptr;  ///< has the literal
  std::shared_ptr<const Computation> computed = nullptr;
  std::shared_ptr<const Evaluation> evaluated = nullptr;
  /// The shape that a Reshape or the like gives these bytes; null: their own.
  std::shared_ptr<const std::vector<int64_t>> shape = nullptr;

  /// The constant has uint8 bytes that hold packed codes of this element; null: its own elements.
  std::optional<Element> packed = std::nullopt;

  /// The type; of a constant that is not readable() float32 stands for its element type. Of packed
  /// codes their element, with the shape of the bytes.
  TensorType type() const;

  /// The type, which may be one that no Element has.
  ArrayType array_type() const;

  /// True where its type is an Element.
  bool readable() const { return element_from_onnx(data_type()).has_value(); }
  int32_t data_type() const;  ///< TensorProto.DataType

  /// Nodes that must be computed for it.
  int nodes() const;

  /// Equal for constants of the same tensor, attribute or computation.
  const void* identity() const;

  /// The name of the tensor; empty for other constants.
  std::string_view name() const {
    return tensor == nullptr ? std::string_view() : std::string_view(tensor->name);
  }
};

/// A constant, or why there is none.
struct Resolved {
  std::optional<Constant> constant;
  std::string reason;
  Definition* computed = nullptr;  ///< the output of a node other than Constant
  bool varies = false;    ///< computed or an input; false for constants that dequant cannot use
  bool of_input = false;  ///< the reason is about an input of the node that computes it
};

/// The reason for a value that a node computes.
std::string computed_by(std::string_view name, const Node& node);

/// The output of a Constant node.
Resolved constant_of(const Node& node);

/// The constant of a name as seen in `graph`, through Identity nodes. An initializer that is also
/// an input of the graph counts as constant only with `assume_const`.
Resolved resolve_constant(const Scopes& scopes, const Graph& graph, std::string_view name,
                          bool assume_const);

/// A DequantizeLinear node with a plan and constant inputs, or the weight of an operator that
/// dequantizes it (MatMulNBits ...).
struct Dequantization {
  Graph* graph = nullptr;
  Node* node = nullptr;
  Plan plan;
  std::optional<int64_t> axis;  ///< counted from the front; none if per tensor
  Constant x;
  std::optional<Constant> scale = {};  ///< none: the scales are in blocks, beside the codes
  std::optional<Constant> zero_point;
  std::optional<Constant> group_index = {};
  std::optional<Constant> codebook = {};
  std::vector<int64_t> dense = {};  ///< the shape of the floats of a weight
  /// Of a QuantizeLinear: the type in which x is divided by the scale, where that is not float32.
  std::optional<Element> division = {};

  /// The shape of the floats, which this struct or the model owns.
  Shape shape() const { return dense.empty() ? x.type().shape : Shape(dense); }

  /// Calls visit(const Constant&) for the constants of the model other than x: not for a codebook,
  /// which is the operator's own.
  template <class Visit>
  void for_each_parameter(Visit visit) const {
    for (const auto* c : {&scale, &zero_point, &group_index})
      if (*c) visit(**c);
  }
};

/// A QuantizeLinear or DequantizeLinear with constant inputs, whose output so is a constant.
struct Computation {
  /// A QuantizeLinear has the plan of the DequantizeLinear with the same parameters: its x has the
  /// type plan.output, its output the type plan.input.
  Dequantization inputs;
  bool quantizes = false;
  int nodes = 1;  ///< nodes that must be computed for the output, this one included

  TensorType type() const {
    return {quantizes ? inputs.plan.input : inputs.plan.output, inputs.x.type().shape};
  }
};

/// The packed bytes of the stored tensors of which a constant, or x, scale and zero point of a
/// dequantization, are computed.
int64_t stored_bytes(const Constant& constant);
int64_t stored_bytes(const Dequantization& d);

/// Calls visitor(identity, bytes) for each of these stored tensors.
void for_each_source(const Constant& constant, const SourceVisitor& visitor);
void for_each_source(const Dequantization& d, const SourceVisitor& visitor);

/// Calls `visit` for all attributes but those whose name begins with "__", which are remarks. Fails
/// with invalid_argument for an attribute that is given twice or is no integer.
Status for_each_int_attribute(
    const Node& node, const std::function<Status(const std::string& name, int64_t value)>& visit);

/// The plan of a DequantizeLinear with inputs of these types. Fails as the dialect does.
Result<Plan> plan_node(const Graph& graph, const Node& node, const TensorType& x,
                       const TensorType& scale, const std::optional<TensorType>& zero_point);

}  // namespace dequant::format::onnx
