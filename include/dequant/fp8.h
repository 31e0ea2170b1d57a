// The FP8 dialect: float8 weights of checkpoints with one scale, a scale for each row, or a scale
// for each block, as DeepSeek, Qwen, Kimi, Mistral, ComfyUI and vLLM store these.
#pragma once

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::fp8 {

/// The largest rank of a weight that is accepted.
inline constexpr int kMaxRank = 8;

/// One weight and its scales. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  TensorType weight;  ///< float8e4m3fn, float8e4m3fnuz, float8e5m2 or float8e5m2fnuz, row-major
  /// float32, float16, bfloat16 or float8e8m0, or uint8 with the bytes of float8e8m0. One element:
  /// one scale. Rank 1 with the first dimension of weight: one scale for each row. Rank of weight:
  /// dimension d is ceil(weight[d] / block[d]); the last block of a dimension may be short.
  TensorType weight_scale;
  /// The block lengths, one for each dimension of weight. Empty: dimensions of weight_scale are 1,
  /// or equal to that of weight.
  Shape block = {};
  Element output = Element::bfloat16;
};

/// Checks the tensors and returns the plan of weight * weight_scale, computed in float32 and
/// rounded once to the output: the arithmetic of compressed-tensors' FP8BlockDequantizer and of
/// transformers' Fp8Dequantize. Names such as weight_scale_inv mislead: scales are multiplied.
/// Fails with invalid_argument; the message names the tensor, the rule that it breaks and its
/// value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::fp8
