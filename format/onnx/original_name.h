// What a tensor was called before it was quantized.
#pragma once

#include <string_view>

namespace dequant::format::onnx {

/// The part of a name that is left without what ONNX Runtime's quantizers append to the names of a
/// constant, of its codes or of what dequantizes them: "conv1.weight" of "conv1.weight_quantized",
/// "conv1.weight_DequantizeLinear_Output" and "conv1.weight_DQ_Q4". Empty of other names.
std::string_view original_name(std::string_view name);

}  // namespace dequant::format::onnx
