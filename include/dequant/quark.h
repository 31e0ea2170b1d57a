// The Quark dialect: integer weights that AMD Quark exports. Its FP8 weights are those of fp8.h,
// its MXFP4 and MXFP6 weights those of mx.h.
#pragma once

#include <optional>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::quark {

/// The member `dtype` of the configuration of weights.
enum class DType : uint8_t { int8, int4, uint4 };

/// One weight. Shapes are borrowed: they must live until dequantize() returns.
struct Dequantize {
  DType weight_dtype = DType::int8;
  /// int8 [out, in]. Of 4 bits int32 [in, out / 8]: the lowest bits of a word have output 0, then
  /// come 2, 4, 6, 1, 3, 5, 7; int4 is in two's complement. The pack_method `reorder`.
  TensorType weight;
  /// float32, float16 or bfloat16: of int8 one, or [out]; of 4 bits [ceil(in / group_size), out].
  TensorType weight_scale;
  /// Of int8 the type of weight and the shape of weight_scale; of 4 bits int32 [groups, out / 8],
  /// packed as weight. Absent: 0; uint4 needs one.
  std::optional<TensorType> weight_zero_point = {};
  int64_t group_size = 0;  ///< of 4 bits: inputs that share a scale
  Element output = Element::bfloat16;
};

/// Checks the tensors and returns the plan of (weight - weight_zero_point) * weight_scale, computed
/// in float32 and rounded once to the output: the arithmetic of Quark's own import of such files.
/// Fails with invalid_argument; the message names the tensor, the rule that it breaks and its
/// value.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::quark
