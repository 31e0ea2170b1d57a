// Constants in another type, as a Cast would have them: codes of int64, which no DequantizeLinear
// has, as the int32 codes that they are, and floats of 16 bits as float32.
#pragma once

#include "format/onnx/evaluation/evaluation.h"

namespace dequant::format::onnx {

/// The numbers of an int64 constant as int32, for an input of `node`. Fails with invalid_argument
/// where a number is none of int32, with limit for more than 64 MiB, and with malformed or io.
Result<Constant> narrowed(const Model& model, ExternalFiles& files, const Node& node,
                          const Constant& constant);

/// The numbers of a float16 or bfloat16 constant as float32, for an input of `node`.
Constant widened(const Node& node, const Constant& constant);

}  // namespace dequant::format::onnx
