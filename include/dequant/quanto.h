// The quanto dialect: weights of optimum-quanto, of 8 bits, or of 2 and 4 bits with a shift that is
// subtracted after the product.
#pragma once

#include <optional>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::quanto {

/// The largest rank of a weight that is accepted.
inline constexpr int kMaxRank = 8;

/// One weight. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  /// Of 8 bits: int8 or a float8, the dense weight. Of 2 and 4 bits: uint8 [ceil(rows / (8 /
  /// bits)), ...]: the first of 8 / bits slabs of rows in the lowest bits.
  TensorType data;
  /// float32, float16 or bfloat16 [rows, 1, ...], or one.
  TensorType scale;
  std::optional<TensorType> shift = {};  ///< of 2 and 4 bits: type and shape of scale
  int64_t bits = 8;                      ///< 2, 4 or 8
  /// Of the dense weight, where that is not [rows, ...] as data has it: rows may be groups.
  Shape shape = {};
  Element output = Element::bfloat16;
};

/// The shape of the dense weight. Fails as dequantize() does.
DEQUANT_EXPORT Result<std::vector<int64_t>> dense_shape(const Dequantize& node);

/// Checks the tensors and returns the plan of code * scale - shift, as dequantize() of quanto's
/// tensors computes it: in the type of scale, the product rounded and then the difference. Fails
/// with invalid_argument; the message names the tensor, the rule that it breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::quanto
