// The HQQ dialect: weights of Half-Quadratic Quantization, with fractional zero points, and codes
// that share a word with codes from far away.
#pragma once

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::hqq {

/// The largest rank of a weight that is accepted.
inline constexpr int kMaxRank = 8;

/// One weight. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  /// The flattened weight as a matrix M of rows of group_size codes (axis 1), or of group_size rows
  /// (axis 0), cut into slabs of rows. uint8 [rows of a slab, columns of M], the first slab in the
  /// highest bits; of 3 bits int32 with ten slabs in the low 30 bits.
  TensorType W_q;
  TensorType scale;  ///< float16, bfloat16 or float32 [rows of M, 1], or [1, columns of M]
  TensorType zero;   ///< type and shape of scale
  Shape shape = {};  ///< of the dense weight
  int64_t bits = 4;  ///< 1, 2, 3, 4 or 8
  int64_t group_size = 64;
  int64_t axis = 1;  ///< of M, along which codes share a scale: 0 or 1
  Element output = Element::float16;
};

/// Checks the tensors and returns the plan of (code - zero) * scale, as HQQLinear.dequantize()
/// computes it: in the type of scale and zero, the difference rounded and then the product. Fails
/// with invalid_argument; the message names the tensor, the rule that it breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::hqq
