// The com.microsoft dialect: ONNX Runtime's contributed DequantizeLinear, version 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::microsoft {

/// One node, by the schema's own names.
struct DequantizeLinear {
  int64_t version = 1;
  TensorType x;
  TensorType x_scale;
  std::optional<TensorType> x_zero_point;
  /// The schema gives no default. As ONNX Runtime's kernel does, an absent axis is 1 and the shape of
  /// x_scale decides between per tensor and per axis.
  std::optional<int64_t> axis;
};

/// Sets an attribute by name. Fails with invalid_argument on any name but "axis".
DEQUANT_EXPORT Status set_attribute(DequantizeLinear& node, std::string_view name, int64_t value);

/// Checks the node against the schema and yields the plan. The output has the scale's type. Fails
/// with invalid_argument naming the input or attribute, the rule and the value.
DEQUANT_EXPORT Result<Plan> dequantize_linear(const DequantizeLinear& node);

}  // namespace dequant::microsoft
