// The name that a tensor had before it was quantized.
#pragma once

#include <string_view>

namespace dequant::format::onnx {

/// A name without the suffix that ONNX Runtime's quantizers append for a constant, its codes, or
/// its DequantizeLinear: "conv1.weight" of "conv1.weight_quantized",
/// "conv1.weight_DequantizeLinear_Output" and "conv1.weight_DQ_Q4". Empty for names without such a
/// suffix.
std::string_view original_name(std::string_view name);

}  // namespace dequant::format::onnx
