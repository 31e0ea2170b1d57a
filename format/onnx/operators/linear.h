// The table of operators whose activations have constant scales (QLinear...).
#pragma once

#include <span>

#include "format/onnx/operators/arithmetic.h"

namespace dequant::format::onnx {

std::span<const ArithmeticOperator> linear_operators();

}  // namespace dequant::format::onnx
