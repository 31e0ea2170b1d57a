// The MX dialect: the OCP microscaling formats MXFP4, MXFP6 and MXFP8, whose blocks of 32 elements
// along the last dimension share a scale that is a power of two.
#pragma once

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::mx {

/// Elements that share a scale.
inline constexpr int64_t kBlock = 32;
/// The largest rank of a weight that is accepted.
inline constexpr int kMaxRank = 8;

/// One weight and its scales. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  /// The stored codes, row-major: of `element` itself, or as uint8 or int8, whose last dimension
  /// counts the bytes of a row: two codes of 4 bits in a byte, low first, or four codes of 6 bits
  /// in three bytes.
  TensorType weight;
  /// float8e8m0, or uint8 with the same bytes; the shape of the weight in elements, but for the
  /// last dimension, which is divided by kBlock.
  TensorType scale;
  Element element = Element::float4e2m1;  ///< float4e2m1, float6e2m3, float6e3m2 or a float8
  Element output = Element::bfloat16;
};

/// Checks the tensors and returns the plan of weight * scale, computed in float32 and rounded once
/// to the output. The products are exact in float32; scale 255 is NaN. Fails with invalid_argument;
/// the message names the tensor, the rule that it breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::mx
