// The com.microsoft dialect: DequantizeLinear version 1 of ONNX Runtime's own operator set
// (contrib operators), whose x_scale and x_zero_point are per tensor or per axis.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::microsoft {

/// One node, by the names of the operator's schema. Shapes are borrowed: they must live until
/// dequantize_linear() returns.
struct DequantizeLinear {
  int64_t version = 1;                     ///< of the operator set com.microsoft; only 1 is known
  TensorType x;                            ///< int8, uint8, int16, uint16, int32, int4 or uint4
  TensorType x_scale;                      ///< float32 or float16: one number, or one per index
  std::optional<TensorType> x_zero_point;  ///< type of x, shape of x_scale; none: zero points are 0
  /// The axis of x that x_scale is for; negative counts from the back. The schema gives no default.
  /// As in ONNX Runtime's kernel, an absent axis is 1, and the shape of x_scale decides whether the
  /// node is per tensor or per axis.
  std::optional<int64_t> axis;
};

/// Sets the attribute that `name` names in the schema. Fails with invalid_argument on any name but
/// "axis". The value is checked by dequantize_linear().
DEQUANT_EXPORT Status set_attribute(DequantizeLinear& node, std::string_view name, int64_t value);

/// Checks the node against the schema and returns its plan. The output has the shape of x and the
/// type of x_scale. Fails with invalid_argument if the node breaks a rule: the message names the
/// input or attribute, the rule and the value. Fails with unsupported if `version` is not 1.
DEQUANT_EXPORT Result<Plan> dequantize_linear(const DequantizeLinear& node);

}  // namespace dequant::microsoft
