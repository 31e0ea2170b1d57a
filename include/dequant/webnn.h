// The WebNN dialect: the operation dequantizeLinear of the Web Neural Network API, by the draft of
// June 2026.
#pragma once

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::webnn {

/// The largest rank that is accepted. The specification asks implementations for ranks 0 to 5.
inline constexpr int kMaxRank = 8;

/// One operation, by the names of the specification. int4 and uint4 are not in the specification:
/// browsers and the web platform tests add them. Shapes are borrowed: they must live until
/// dequantize_linear() returns.
struct DequantizeLinear {
  TensorType input;  ///< int8, uint8, int32, uint32, int4 or uint4, of rank 0 to kMaxRank
  /// float32 or float16, of the rank of input. Each dimension divides that of input: it is the
  /// number of blocks that input is divided into along that dimension.
  TensorType scale;
  TensorType zero_point;  ///< type of input, shape of scale
};

/// Checks the operation against the specification and returns its plan. The output has the shape of
/// input and the type of scale. Fails with invalid_argument; the message names the operand, the
/// rule that it breaks and its value.
DEQUANT_EXPORT Result<Plan> dequantize_linear(const DequantizeLinear& node);

}  // namespace dequant::webnn
