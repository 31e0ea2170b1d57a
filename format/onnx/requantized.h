// Float weights that ONNX Runtime quantizes again.
#pragma once

#include <string>

#include "format/onnx/constants.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// ONNX Runtime's optimizer WeightBiasQuantization, on by default, quantizes float weights and
/// biases of a Conv, ConvTranspose or Gemm between a DequantizeLinear and a QuantizeLinear. A
/// warning if the model will have any, else an empty text. Call after all other changes.
Result<std::string> warning_of_requantized(const Rewire& rewire, Constants& constants);

}  // namespace dequant::format::onnx
