// The AWQ dialect: 4-bit weights of AutoAWQ in its layouts GEMM and GEMV.
#pragma once

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::awq {

/// What a word has: the version of a configuration.
enum class Version : uint8_t {
  gemm,  ///< the codes of eight outputs, from the lowest bits on 0, 2, 4, 6, 1, 3, 5, 7
  gemv,  ///< the codes of eight inputs in their order, the first in the lowest bits
};

/// One weight. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  TensorType qweight;  ///< int32 or uint32 [in, out / 8]; of Version::gemv [out, in / 8]
  /// int32 or uint32 [groups, out / 8]; of Version::gemv [out, words], where words is ceil(groups /
  /// 8), rounded up to a multiple of 2 for groups of 64 inputs and of 4 for groups of 32.
  TensorType qzeros;
  TensorType scales;        ///< float16, bfloat16 or float32 [groups, out] or [out, 8 * words]
  int64_t group_size = -1;  ///< inputs that share a scale; -1: all. GEMV has 32, 64, 128 and more
  Element output = Element::float16;
  Version version = Version::gemm;
};

/// The outputs and inputs of the dense weight [out, in]. Fails as dequantize() does.
DEQUANT_EXPORT Result<std::array<int64_t, 2>> dense_shape(const Dequantize& node);

/// Checks the tensors and returns the plan of (code - zero point) * scale, computed in float32 and
/// rounded once to the output: with float16 scales and output the arithmetic of AutoAWQ's
/// dequantize_gemm, and with float32 output that of its kernel for GEMV. Fails with
/// invalid_argument; the message names the tensor, the rule that it breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::awq
