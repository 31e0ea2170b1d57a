// Operators that read and write quantized activations: each becomes DequantizeLinear nodes, the
// float operator and a QuantizeLinear, and strip() then takes the pairs off.
//
// To add such an operator: a row of the table in a file of this folder, and for a new file its line
// in arithmetic.cc. A row says which inputs are quantized, where their scales and zero points are,
// which operator takes the floats, and which attributes that operator gets; `check` refuses what
// the float operator does not do. Of operators that are in no row, or that are refused, the report
// has the name and the reason. Each row has a model by ONNX Runtime's quantizer in
// tests/python/test_operators_arithmetic.py.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "format/onnx/made_node.h"
#include "format/onnx/operators/operands.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

inline constexpr std::string_view kMicrosoft = "com.microsoft";

/// An input of the float operator.
struct FloatInput {
  enum class Kind : uint8_t {
    same,       ///< the input `codes` as it is
    quantized,  ///< `codes` with `scale` and `zero_point`
    /// int32 `codes`, whose scale is the product of `scale` and `other_scale`
    bias,
  };

  Kind kind = Kind::same;
  size_t codes = 0;
  size_t scale = 0;
  size_t zero_point = 0;  ///< its input may be absent
  size_t other_scale = 0;
  /// Along which constant codes may have several scales; negative from the back. None: one scale.
  std::optional<int64_t> axis = {};
  /// The integer attribute that transposes a matrix where it is not 0, and the axis with it.
  std::string_view transposed = {};
  /// Of a bias: the float attribute that its scale is multiplied by, 1 where it is absent.
  std::string_view factor = {};
  bool may_have_no_scale = false;  ///< an activation without an input `scale` has the scale 1
  /// The codes are those of a Conv's W, axis is 0, and scales have the shape that broadcasts to
  /// the output: [M, 1, ...], maybe behind a 1, or ones alone.
  bool scales_of_output = false;

  /// A quantized input with the three inputs in the usual order.
  static constexpr FloatInput three(size_t first, std::optional<int64_t> axis = {}) {
    return {Kind::quantized, first, first + 1, first + 2, 0, axis};
  }
};

/// An attribute that the float operator gets from the node.
struct CarriedAttribute {
  std::string_view name;
  /// The integer that its absence means for the node, where the float operator has another default.
  std::optional<int64_t> otherwise = {};
  /// The ai.onnx opset from which on the float operator has these integers as its last input.
  int64_t input_since = std::numeric_limits<int64_t>::max();
};

/// The inputs with scale and zero point of the output.
struct QuantizedOutput {
  size_t scale = 0;
  size_t zero_point = 0;
  bool optional = false;  ///< without a scale the output is float
};

/// A row of the table.
struct ArithmeticOperator {
  std::string_view domain;
  std::string_view type;
  std::string_view becomes;         ///< the float operator
  std::string_view becomes_domain;  ///< its operator set
  int64_t since;                    ///< the ai.onnx opset from which on it takes these inputs
  std::span<const FloatInput> inputs;
  /// Above 0: the last of `inputs` comes again with all indices increased by this, as long as the
  /// node has such inputs.
  size_t repeat = 0;
  std::optional<QuantizedOutput> output = {};
  std::span<const CarriedAttribute> attributes = {};  ///< that the float operator gets
  /// Refuses, by Operands::refuse(), what the float operator does not do. May be null.
  Status (*check)(Operands& in) = nullptr;
  size_t plus = 0;  ///< above 0: an input that an Add behind the float operator adds, if present
};

/// The attributes of Conv, which its quantized forms have too.
inline constexpr CarriedAttribute kConvAttributes[] = {
    {"auto_pad"}, {"dilations"}, {"group"}, {"kernel_shape"}, {"pads"}, {"strides"}};

/// The row of a node's operator, or null.
const ArithmeticOperator* arithmetic_operator(const Node& node);

/// True if `wanted` is, for the name of codes that the operator reads with scales.
bool any_of_codes(const ArithmeticOperator& op, const Node& node,
                  const std::function<bool(Text)>& wanted);

/// True for an input of a node that is a scale or zero point of such an operator.
bool is_parameter(const Node& node, size_t input);

/// Replaces an operator by its nodes, which are returned; or sets Operands::reason(). The nodes
/// take the place of `place`, or of the operator's node where that is null. Fails with malformed,
/// limit or io.
Result<std::vector<Node*>> expand(const ArithmeticOperator& op, Operands& in, Constants& constants,
                                  Rewire& rewire, Node* place = nullptr);

}  // namespace dequant::format::onnx
