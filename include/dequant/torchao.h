// The torchao dialect: weights whose codes have a byte each, with scales and zero points of blocks.
#pragma once

#include <optional>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::torchao {

/// One weight. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  /// int8 (Int8Tensor, and IntxUnpackedToInt8Tensor, of any number of bits) or a float8
  /// (Float8Tensor).
  TensorType qdata;
  TensorType scale;                           ///< float32, float16 or bfloat16, one for each block
  std::optional<TensorType> zero_point = {};  ///< of int8: int8, the shape of scale
  Shape block_size = {};                      ///< one length for each dimension of qdata
  Element output = Element::bfloat16;
};

/// Checks the tensors and returns the plan of (qdata - zero_point) * scale, computed in float32 and
/// rounded once to the output: the arithmetic of dequantize() of these tensors. Fails with
/// invalid_argument; the message names the tensor, the rule that it breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::torchao
