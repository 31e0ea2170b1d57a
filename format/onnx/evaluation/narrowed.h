// Codes of int64, which no DequantizeLinear has, as the int32 codes that they are.
#pragma once

#include "format/onnx/evaluation/evaluation.h"

namespace dequant::format::onnx {

/// The numbers of an int64 constant as int32, for an input of `node`. Fails with invalid_argument
/// where a number is none of int32, with limit for more than 64 MiB, and with malformed or io.
Result<Constant> narrowed(const Model& model, ExternalFiles& files, const Node& node,
                          const Constant& constant);

}  // namespace dequant::format::onnx
