// The ONNX dialect: ai.onnx DequantizeLinear, opset versions 10, 13, 19, 21, 23, 24 and 25.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::onnx {

/// The newest opset whose DequantizeLinear is known. Version 28 adds to version 25 only two 6-bit
/// floats, which dequant does not read; so the row of version 25 serves up to here.
inline constexpr int kNewestOpset = 28;

/// One node, by the specification's own names. An attribute that is not set takes its default.
struct DequantizeLinear {
  int64_t opset = 25;  ///< of the model; the newest version of the operator not above it holds
  TensorType x;
  TensorType x_scale;
  std::optional<TensorType> x_zero_point;
  std::optional<int64_t> axis;          ///< since 13, default 1, negative counts from the back
  std::optional<int64_t> block_size;    ///< since 21, default 0: not blocked
  std::optional<int64_t> output_dtype;  ///< since 23, onnx_code() of the type; 0: that of x_scale
};

/// Sets an attribute by name. Fails with invalid_argument on a name that no version has.
DEQUANT_EXPORT Status set_attribute(DequantizeLinear& node, std::string_view name, int64_t value);

/// Checks the node against its version of the specification and yields the plan. Fails with
/// invalid_argument naming the input or attribute, the rule and the value; with unsupported when the
/// opset is below 10 or above kNewestOpset.
DEQUANT_EXPORT Result<Plan> dequantize_linear(const DequantizeLinear& node);

}  // namespace dequant::onnx
