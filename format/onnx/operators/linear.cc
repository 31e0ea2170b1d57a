// The table of operators whose activations have constant scales.
#include "format/onnx/operators/linear.h"

#include "format/io/errors.h"

namespace dequant::format::onnx {
namespace {

constexpr FloatInput bias(size_t codes, size_t scale, size_t other_scale) {
  return {FloatInput::Kind::bias, codes, scale, 0, other_scale, 0};
}

constexpr FloatInput kOne[] = {FloatInput::three(0)};
constexpr FloatInput kTwo[] = {FloatInput::three(0), FloatInput::three(3)};
constexpr FloatInput kQLinearMatMul[] = {FloatInput::three(0), FloatInput::three(3, -1)};
constexpr FloatInput kQLinearConv[] = {FloatInput::three(0), FloatInput::three(3, 0),
                                       bias(8, 1, 4)};
constexpr FloatInput kGemm[] = {FloatInput::three(0),
                                {FloatInput::Kind::quantized, 3, 4, 5, 0, -1, "transB"},
                                {FloatInput::Kind::bias, 6, 1, 0, 4, {}, {}, "alpha"}};
constexpr FloatInput kConcat[] = {FloatInput::three(2)};
constexpr FloatInput kWhere[] = {
    {FloatInput::Kind::same, 0}, FloatInput::three(1), FloatInput::three(4)};

constexpr CarriedAttribute kGemmAttributes[] = {{"alpha"}, {"transA"}, {"transB"}};
constexpr CarriedAttribute kConcatAttributes[] = {{"axis"}};
constexpr CarriedAttribute kPoolAttributes[] = {
    {"auto_pad"}, {"ceil_mode"}, {"count_include_pad"}, {"kernel_shape"}, {"pads"}, {"strides"}};
constexpr CarriedAttribute kLeakyReluAttributes[] = {{"alpha"}};
constexpr CarriedAttribute kSoftmaxAttributes[] = {{"axis", -1}};
constexpr CarriedAttribute kMeanAttributes[] = {{"keepdims"}, {"axes", {}, 18}};

/// The float operators have their channels at axis 1.
Status check_layout(Operands& in) {
  if (in.integer("channels_last", 0) != 0)
    in.refuse("channels_last: the float operator has its channels at axis 1");
  return {};
}

Status check_gemm(Operands& in) {
  const int64_t opset = in.graph().opsets.onnx.value_or(0);
  if (opset < 11 && !in.has(6))
    in.refuse(fmt::format("Gemm needs its input C before opset 11; the model imports {}", opset));
  return {};
}

/// Before opset 13 Softmax takes the axes from `axis` on as one. The attribute `opset` says which
/// of both QLinearSoftmax computes; along the last axis both are the same.
Status check_softmax(Operands& in) {
  const int64_t opset = in.graph().opsets.onnx.value_or(0);
  const int64_t own = in.integer("opset");
  const int64_t axis = in.integer("axis", -1);
  if (axis != -1 && (own < 13) != (opset < 13)) {
    in.refuse(
        fmt::format("its axis {} is meant as in opset {}, where Softmax of opset {}, which the "
                    "model imports, computes otherwise",
                    axis, own, opset));
  }
  if (axis < 0 && opset < 11) {
    in.refuse(
        fmt::format("Softmax has no axis {} before opset 11; the model imports {}", axis, opset));
  }
  return {};
}

/// The quantized operator divides by the size of the whole window, the float operator by the part
/// of a window that is within the pads: with ceil_mode a window may reach beyond them.
Status check_pool(Operands& in) {
  if (in.integer("ceil_mode", 0) != 0 && in.integer("count_include_pad", 0) != 0) {
    in.refuse(
        "ceil_mode with count_include_pad: the float operator divides windows beyond the pads by "
        "another number");
  }
  return check_layout(in);
}

constexpr QuantizedOutput kThird{3, 4};
constexpr QuantizedOutput kSixth{6, 7};

constexpr ArithmeticOperator kLinearOperators[] = {
    {"", "QLinearMatMul", "MatMul", "", 10, kQLinearMatMul, 0, kSixth},
    {"", "QLinearConv", "Conv", "", 10, kQLinearConv, 0, kSixth, kConvAttributes},
    {kMicrosoft, "QLinearConv", "Conv", "", 10, kQLinearConv, 0, kSixth, kConvAttributes,
     check_layout},
    {kMicrosoft, "QGemm", "Gemm", "", 10, kGemm, 0, QuantizedOutput{7, 8, true}, kGemmAttributes,
     check_gemm},
    {kMicrosoft, "QLinearAdd", "Add", "", 10, kTwo, 0, kSixth},
    {kMicrosoft, "QLinearMul", "Mul", "", 10, kTwo, 0, kSixth},
    {kMicrosoft, "QLinearConcat", "Concat", "", 10, kConcat, 3, QuantizedOutput{0, 1},
     kConcatAttributes},
    {kMicrosoft, "QLinearAveragePool", "AveragePool", "", 10, kOne, 0, kThird, kPoolAttributes,
     check_pool},
    {kMicrosoft,
     "QLinearGlobalAveragePool",
     "GlobalAveragePool",
     "",
     10,
     kOne,
     0,
     kThird,
     {},
     check_layout},
    {kMicrosoft, "QLinearSigmoid", "Sigmoid", "", 10, kOne, 0, kThird},
    {kMicrosoft, "QLinearLeakyRelu", "LeakyRelu", "", 10, kOne, 0, kThird, kLeakyReluAttributes},
    {kMicrosoft, "QLinearSoftmax", "Softmax", "", 10, kOne, 0, kThird, kSoftmaxAttributes,
     check_softmax},
    {kMicrosoft, "QLinearReduceMean", "ReduceMean", "", 10, kOne, 0, kThird, kMeanAttributes},
    {kMicrosoft, "QLinearWhere", "Where", "", 10, kWhere, 0, QuantizedOutput{7, 8}},
};

}  // namespace

std::span<const ArithmeticOperator> linear_operators() { return kLinearOperators; }

}  // namespace dequant::format::onnx
