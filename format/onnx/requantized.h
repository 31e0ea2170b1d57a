// Finding float weights that ONNX Runtime would quantize again.
#pragma once

#include <string>

#include "format/onnx/constants.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// A warning if the converted model has such weights, else an empty text. ONNX Runtime's optimizer
/// WeightBiasQuantization, on by default, quantizes float weights and biases of a Conv,
/// ConvTranspose or Gemm between a DequantizeLinear and a QuantizeLinear. Must be called after all
/// other changes. Fails with malformed or io.
Result<std::string> warning_of_requantized(const Rewire& rewire, Constants& constants);

}  // namespace dequant::format::onnx
