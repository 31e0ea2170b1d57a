// The ModelOpt dialect: weights that NVIDIA's Model Optimizer exports.
#pragma once

#include <array>
#include <optional>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::modelopt {

/// The layouts of weights, by the quant_algo that names these.
enum class Algorithm : uint8_t {
  fp8,  ///< FP8: one scale
  /// FP8_PER_CHANNEL_PER_TOKEN: a scale for each row; of stacked experts for each expert, row or
  /// column
  fp8_per_channel_per_token,
  fp8_pb_wo,            ///< FP8_PB_WO: a scale for each block of 128 by 128
  w8a8_sq_per_channel,  ///< W8A8_SQ_PER_CHANNEL: int8, a scale for each row
  nvfp4,                ///< NVFP4, W4A16_NVFP4, NVFP4_AWQ
  mxfp4,                ///< MXFP4
  mxfp8,                ///< MXFP8
  w4a16_awq,            ///< W4A16_AWQ: int4 in groups of a row
};

/// The value of each code of NVFP4: those of float4e2m1, but code 8 is +0, not -0. The contents of
/// the codebook that plans of NVFP4 need.
inline constexpr std::array<float, 16> kNvfp4Values{0, 0.5F,  1,  1.5F,  2,  3,  4,  6,
                                                    0, -0.5F, -1, -1.5F, -2, -3, -4, -6};

/// The largest rank of a weight that is accepted.
inline constexpr int kMaxRank = 8;

/// One weight and its scales. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  Algorithm quant_algo = Algorithm::nvfp4;
  /// float8e4m3fn or int8; of NVFP4 and MXFP4 uint8, two codes in a byte, low first. Of W4A16_AWQ
  /// uint8 [..., out / 2, in], a byte with the codes of two outputs, the first in the low bits.
  TensorType weight;
  /// float32: one, [out], or [ceil(out / 128), ceil(in / 128)], which may have further dimensions
  /// of size 1; of experts of FP8_PER_CHANNEL_PER_TOKEN [experts], or [experts, n] where n is the
  /// size of one of the other dimensions, and not of both; of W4A16_AWQ [..., out, groups]. Of
  /// NVFP4 float8e4m3fn [..., in / 16], of MXFP4 and MXFP8 uint8 or float8e8m0 [..., in / 32].
  TensorType weight_scale;
  std::optional<TensorType> weight_scale_2 = {};  ///< of NVFP4: one float32
  Element output = Element::bfloat16;
  /// Of W4A16_AWQ: inputs that share a scale; 0: as many as the shapes say.
  int64_t group_size = 0;
  /// Of NVFP4: the dense weight is [..., in, out], as of the experts of Llama 4. A byte has the
  /// codes of two inputs, the first in the low bits: `weight` is [..., in / 2, out] and
  /// `weight_scale` [..., in / 16, out].
  bool transposed = false;
};

/// Checks the tensors and returns the plan. The results are those of the dequantize() of ModelOpt's
/// tensors. FP8 and int8: the scale is rounded to the output before it is used. NVFP4:
/// weight_scale * weight_scale_2 is rounded to float32; Buffers::codebook must be kNvfp4Values.
/// W4A16_AWQ, of which ModelOpt has the packer alone: code * weight_scale in float32, rounded once.
/// Fails with invalid_argument, and with unsupported for square experts with scales [experts, n];
/// the message names the tensor, the rule that it breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::modelopt
