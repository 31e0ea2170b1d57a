// The BitNet dialect: ternary weights of transformers, four to a byte, with one scale.
#pragma once

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::bitnet {

/// The largest rank of a weight that is accepted.
inline constexpr int kMaxRank = 8;

/// What layers do with weight_scale: linear_class of a configuration.
enum class LinearClass : uint8_t {
  bitlinear,      ///< they divide by it
  autobitlinear,  ///< they multiply by it
};

/// One weight. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  /// uint8 [rows / 4, ...]: four slabs of rows, the first in the lowest two bits. A field is a code
  /// plus 1; the field 3, which packing does not write, is the code 2.
  TensorType weight;
  TensorType weight_scale;  ///< float32, float16 or bfloat16: one number, [1] or []
  LinearClass linear_class = LinearClass::bitlinear;
  Element output = Element::bfloat16;
};

/// The shape of the dense weight, [rows, ...]. Fails as dequantize() does.
DEQUANT_EXPORT Result<std::vector<int64_t>> dense_shape(const Dequantize& node);

/// Checks the tensors and returns the plan of code * s, rounded to float32 and then to the output,
/// where s is weight_scale or, of LinearClass::bitlinear, 1 / weight_scale rounded to float32.
/// docs/numerics.md says for which scales that is code / weight_scale. Fails with invalid_argument;
/// the message names the tensor, the rule that it breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::bitnet
