// Scales and zero points of the inputs and outputs of operators of quantized arithmetic.
#include "format/onnx/operators/scales.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "format/io/errors.h"
#include "format/io/numbers.h"

namespace dequant::format::onnx {
namespace {

/// The first opset in which pairs have float16.
constexpr int64_t kFirstHalf = 19;

/// True for one number, of any rank.
bool has_one(Shape shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t n) { return n == 1; });
}

bool is_one(Shape shape) { return shape.size() <= 1 && has_one(shape); }

}  // namespace

Status check_pair(Operands& in, size_t scale_input, size_t zero_input) {
  DEQUANT_TRY(const auto scale, in.constant(scale_input));
  if (!scale) return {};
  const TensorType type = scale->type();
  if (!is_one(type.shape)) {
    in.refuse(fmt::format("{}: scales of shape {}, where an activation has one",
                          escaped(in.name(scale_input)), text_of(type.shape)));
    return {};
  }
  const int64_t opset = in.graph().opsets.onnx.value_or(0);
  const bool half = type.element == Element::float16 || type.element == Element::bfloat16;
  if (type.element != Element::float32 && !(half && opset >= kFirstHalf)) {
    in.refuse(fmt::format("{}: {} is no scale of opset {}", escaped(in.name(scale_input)),
                          name(type.element), opset));
    return {};
  }
  DEQUANT_TRY(const TensorData data, in.data(*scale));
  for_each_number(data.element, data.bytes, [&](double s) {
    if (s == 0 || !std::isfinite(s))
      in.refuse(fmt::format("{}: a scale of {}", escaped(in.name(scale_input)), s));
  });
  return check_zero_point(in, zero_input);
}

Status check_zero_point(Operands& in, size_t zero_input) {
  if (!in.has(zero_input)) return {};
  DEQUANT_TRY(const auto zero, in.constant(zero_input));
  if (zero && !is_one(zero->type().shape)) {
    in.refuse(fmt::format("{}: zero points of shape {}, where an activation has one",
                          escaped(in.name(zero_input)), text_of(zero->type().shape)));
  }
  return {};
}

Result<std::vector<float>> read_scales_of_output(Operands& in, const FloatInput& input,
                                                 const Constant& codes, const Constant& scale) {
  const TensorType w = codes.type();
  const TensorType s = scale.type();
  std::vector<int64_t> channels(w.shape.size() < 2 ? 0 : w.shape.size() - 1, 1);
  if (!channels.empty()) channels[0] = w.shape[0];
  const bool batch = s.shape.size() == w.shape.size() && !s.shape.empty() && s.shape[0] == 1;
  const bool each = !channels.empty() && same_shape(batch ? s.shape.subspan(1) : s.shape, channels);
  const bool one = s.shape.size() <= w.shape.size() && has_one(s.shape);
  if (s.element != Element::float32 || !(one || each)) {
    in.refuse(fmt::format("{}: {}{} is no scale, and none of each output channel of {}{}",
                          escaped(in.name(input.scale)), name(s.element), text_of(s.shape),
                          escaped(in.name(input.codes)), text_of(w.shape)));
    return std::vector<float>();
  }
  DEQUANT_TRY(const TensorData data, in.data(scale));
  std::vector<float> scales(data.bytes.size() / sizeof(float));
  std::memcpy(scales.data(), data.bytes.data(), data.bytes.size());
  return scales;
}

Result<bool> needs_zero_point(Operands& in, size_t zero_input, Shape scales) {
  if (!in.has(zero_input)) return false;
  DEQUANT_TRY(const auto zero, in.constant(zero_input));
  if (!zero) return false;
  const TensorType type = zero->type();
  if (same_shape(type.shape, scales) || (scales.empty() && is_one(type.shape))) return true;
  bool is_zero = has_one(type.shape);
  if (is_zero) {
    DEQUANT_TRY(const TensorData data, in.data(*zero));
    for_each_number(data.element, data.bytes, [&](double z) { is_zero = z == 0; });
  }
  if (is_zero) return false;
  in.refuse(fmt::format("{}: zero points of shape {}, where scales have the shape {}",
                        escaped(in.name(zero_input)), text_of(type.shape), text_of(scales)));
  return true;
}

}  // namespace dequant::format::onnx
