// The table of operators whose activations have constant scales.
#include "format/onnx/operators/linear.h"

namespace dequant::format::onnx {
namespace {

constexpr FloatInput bias(size_t codes, size_t scale, size_t other_scale) {
  return {FloatInput::Kind::bias, codes, scale, 0, other_scale, 0};
}

constexpr FloatInput kMatMul[] = {FloatInput::three(0), FloatInput::three(3, -1)};

constexpr FloatInput kConv[] = {FloatInput::three(0), FloatInput::three(3, 0), bias(8, 1, 4)};
constexpr ArithmeticOperator kOperators[] = {
    {"", "QLinearMatMul", "MatMul", "", 10, kMatMul, 0, QuantizedOutput{6, 7}},
    {"", "QLinearConv", "Conv", "", 10, kConv, 0, QuantizedOutput{6, 7}, kConvAttributes},
};

}  // namespace

std::span<const ArithmeticOperator> linear_operators() { return kOperators; }

}  // namespace dequant::format::onnx
