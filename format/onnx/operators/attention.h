// The table of operators of transformers whose float forms are com.microsoft's too, and of products
// that quantize their first input themselves.
#pragma once

#include <span>

#include "format/onnx/operators/arithmetic.h"

namespace dequant::format::onnx {

std::span<const ArithmeticOperator> attention_operators();

}  // namespace dequant::format::onnx
