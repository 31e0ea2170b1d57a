// The MLX dialect: weights of Apple's MLX, whose rows are streams of codes in words of 32 bits.
#pragma once

#include <optional>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::mlx {

/// The largest rank of a weight that is accepted.
inline constexpr int kMaxRank = 8;

/// How codes become numbers: the mode of a configuration.
enum class Mode : uint8_t {
  affine,  ///< code * scale + bias
  mxfp4,   ///< float4e2m1 * 2^(scale - 127), groups of 32
  mxfp8,   ///< float8e4m3fn * 2^(scale - 127), groups of 32
  nvfp4,   ///< float4e2m1 * float8e4m3fn, groups of 16; there is no scale of the whole tensor
};

/// One weight. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  TensorType weight;  ///< uint32 [..., columns * bits / 32]
  /// [..., columns / group_size]: float32, float16 or bfloat16, of the other modes uint8.
  TensorType scales;
  std::optional<TensorType> biases = {};  ///< of Mode::affine: type and shape of the scales
  Mode mode = Mode::affine;
  int64_t bits = 4;         ///< of Mode::affine 1 to 6 or 8; of the others that of the float
  int64_t group_size = 64;  ///< of Mode::affine 32, 64 or 128
  Element output = Element::bfloat16;
};

/// The shape of the dense weight. Fails as dequantize() does.
DEQUANT_EXPORT Result<std::vector<int64_t>> dense_shape(const Dequantize& node);

/// Checks the tensors and returns the plan. Affine weights are computed as mx.dequantize() does: in
/// the type of the scales, code * scale is rounded, and then the sum with the bias. With a float32
/// output these two are rounded to float32, as of scales and biases that are cast to float32
/// before. The other modes are computed in float32 and rounded once; scale 255 of mxfp4 and mxfp8
/// is infinity, as in mx.dequantize() on a CPU. Fails with invalid_argument; the message names the
/// tensor, the rule that it breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::mlx
