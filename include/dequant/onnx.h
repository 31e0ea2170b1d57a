// The ONNX dialect: DequantizeLinear of ai.onnx.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::onnx {

/// The opsets that changed DequantizeLinear: the versions of the operator.
inline constexpr std::array kVersionOpsets{10, 13, 19, 21, 23, 24, 25, 28};

/// The newest opset whose DequantizeLinear is known.
inline constexpr int kNewestOpset = 28;
static_assert(kNewestOpset >= kVersionOpsets.back());

/// One node, by the names of the specification. An attribute without a value takes its default.
/// Shapes are borrowed: they must live until dequantize_linear() returns.
struct DequantizeLinear {
  /// The opset that the model imports. The newest version of the operator that is not above it
  /// decides which types, shapes and attributes are allowed.
  int64_t opset = kNewestOpset;
  TensorType x;        ///< the quantized tensor
  TensorType x_scale;  ///< one number; or one per index on `axis`; or, blocked, one per block
  std::optional<TensorType> x_zero_point;  ///< type of x, shape of x_scale; none: zero points are 0
  std::optional<int64_t> axis;             ///< since 13, default 1, negative counts from the back
  std::optional<int64_t> block_size;       ///< since 21, default 0: not blocked
  std::optional<int64_t> output_dtype;  ///< since 23, onnx_code() of the type; 0: that of x_scale
};

/// Sets the attribute that `name` names in the specification. Fails with invalid_argument on a name
/// that no version of the operator has. The value is checked by dequantize_linear().
DEQUANT_EXPORT Status set_attribute(DequantizeLinear& node, std::string_view name, int64_t value);

/// Checks the node against its version of the specification and returns its plan. The output has
/// the shape of x. Fails with invalid_argument if the node breaks a rule: the message names the
/// input or attribute, the rule and the value. Fails with unsupported if the opset is below 10,
/// where the operator does not exist, or above kNewestOpset.
DEQUANT_EXPORT Result<Plan> dequantize_linear(const DequantizeLinear& node);

}  // namespace dequant::onnx
