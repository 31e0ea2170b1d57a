// The AWQ dialect: 4-bit weights of AutoAWQ in its GEMM layout, whose words have eight outputs each
// in an order of their own.
#pragma once

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::awq {

/// One weight. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  /// int32 or uint32 [in, out / 8]: the lowest bits of a word have output 0, then come 2, 4, 6, 1,
  /// 3, 5, 7.
  TensorType qweight;
  TensorType qzeros;        ///< int32 or uint32 [groups, out / 8], in the same order
  TensorType scales;        ///< float16, bfloat16 or float32 [groups, out]
  int64_t group_size = -1;  ///< inputs that share a scale; -1: all
  Element output = Element::float16;
};

/// The outputs and inputs of the dense weight [out, in]. Fails as dequantize() does.
DEQUANT_EXPORT Result<std::array<int64_t, 2>> dense_shape(const Dequantize& node);

/// Checks the tensors and returns the plan of (code - zero point) * scale, computed in float32 and
/// rounded once to the output: with float16 scales and output the arithmetic of AutoAWQ's
/// dequantize_gemm. Fails with invalid_argument; the message names the tensor, the rule that it
/// breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::awq
