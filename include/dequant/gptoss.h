// The gpt-oss dialect: MXFP4 experts of OpenAI's gpt-oss, in the layout of OpenAI's own files and
// in that of transformers.
#pragma once

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::gptoss {

/// Codes of a block: they share a scale, and fill 16 bytes.
inline constexpr int64_t kBlock = 32;
inline constexpr int64_t kBlockBytes = 16;
/// The largest rank of blocks that is accepted.
inline constexpr int kMaxRank = 8;

/// The matrices of all experts. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  /// uint8 [..., rows, groups, 16]: two float4e2m1 in each byte, low first.
  TensorType blocks;
  /// uint8 or float8e8m0 [..., rows, groups].
  TensorType scales;
  /// Dense matrices are [..., groups * 32, rows], as transformers has them, not [..., rows, groups
  /// * 32], as OpenAI's code has them.
  bool transposed = false;
  Element output = Element::bfloat16;
};

/// Checks the tensors and returns the plan of value * 2^(scale - 127), rounded once to the output.
/// The products are exact in float32 and, unless a result is subnormal, in bfloat16. Scale 255 is
/// NaN: producers' results of it depend on the position of the element. Fails with
/// invalid_argument; the message names the tensor, the rule that it breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::gptoss
