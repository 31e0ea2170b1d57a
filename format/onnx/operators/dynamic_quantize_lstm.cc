// com.microsoft DynamicQuantizeLSTM: an LSTM that quantizes its activations itself. Its weights are
// stored as [directions, inputs, 4 * hidden]; those of an LSTM are [directions, 4 * hidden,
// inputs].
#include <array>

#include "format/io/errors.h"
#include "format/onnx/operators/weights.h"

namespace dequant::format::onnx {
namespace {
namespace lstm {

using enum Element;

enum Input : size_t { kX, kW, kR, kB, kWScale = 8, kWZero, kRScale, kRZero };
constexpr size_t kQuantized[] = {kW, kR, kWScale, kWZero, kRScale, kRZero};

/// The inputs that an LSTM has too, in the same places.
constexpr size_t kLstmInputs = 8;
/// The first opset with an LSTM of these inputs and no others.
constexpr int64_t kFirstOpset = 7;
constexpr std::string_view kAttributes[] = {
    "activation_alpha", "activation_beta", "activations", "clip",
    "direction",        "hidden_size",     "input_forget"};

/// A weight with one scale for each direction, or for each of its 4 * hidden columns.
Result<Weight> plan_weight(Operands& in, size_t input, size_t scale, size_t zero) {
  Weight weight{input, {}};
  Dequantization& d = weight.dequantization;
  DEQUANT_TRY(const auto codes, in.constant(input));
  DEQUANT_TRY(const auto scales, in.constant(scale));
  DEQUANT_TRY(d.zero_point, in.constant(zero));
  if (!in.reason().empty()) return weight;
  d.x = *codes;
  d.scale = *scales;
  const TensorType x = d.x.type();
  if ((x.element != uint8 && x.element != int8) || x.shape.size() != 3) {
    in.refuse(fmt::format("{}: {}{} is no weight", escaped(in.name(input)), name(x.element),
                          text_of(x.shape)));
    return weight;
  }
  const int64_t directions = x.shape[0];
  const int64_t inputs = x.shape[1];
  const int64_t columns = x.shape[2];
  const Shape shape = d.scale->type().shape;
  const bool single = same_shape(shape, std::array{directions});
  if (directions < 1 || inputs < 1 || columns < 1 || d.scale->type().element != float32 ||
      (!single && !same_shape(shape, std::array{directions, columns}))) {
    in.refuse(fmt::format("{}: {}{} are no scales of {}", escaped(in.name(scale)),
                          name(d.scale->type().element), text_of(shape), text_of(x.shape)));
  }
  const TensorType zeros = d.zero_point->type();
  if (zeros.element != x.element || !same_shape(zeros.shape, shape)) {
    in.refuse(fmt::format("{}: {}{} are no zero points of scales {}", escaped(in.name(zero)),
                          name(zeros.element), text_of(zeros.shape), text_of(shape)));
  }
  const int64_t of_direction = single ? 1 : columns;
  const int64_t of_column = single ? 0 : 1;
  d.plan.input = x.element;
  d.plan.has_zero_point = true;
  d.plan.granularity = Granularity::strided;
  d.plan.dimensions = {{directions, inputs * columns, of_direction, of_direction, columns * inputs},
                       {columns, 1, of_column, of_column, inputs},
                       {inputs, columns, 0, 0, 1}};
  d.dense = {directions, columns, inputs};
  return weight;
}

Result<std::vector<Weight>> plan_weights(Operands& in) {
  in.need_opset("LSTM", kFirstOpset);
  std::vector<Weight> weights(2);
  DEQUANT_TRY(weights[0], plan_weight(in, kW, kWScale, kWZero));
  DEQUANT_TRY(weights[1], plan_weight(in, kR, kRScale, kRZero));
  return weights;
}

Result<std::vector<MadeNode>> float_nodes(Operands& in, std::span<const std::string> weights,
                                          Rewire&) {
  MadeNode lstm{.op_type = "LSTM"};
  for (size_t i = 0; i < kLstmInputs; ++i) lstm.inputs.push_back(in.name(i));
  lstm.inputs[kW] = weights[0];
  lstm.inputs[kR] = weights[1];
  while (lstm.inputs.back().empty()) lstm.inputs.pop_back();
  for (const Name& output : in.node().outputs) lstm.outputs.push_back(output.text.str());
  for (const std::string_view name : kAttributes) {
    DEQUANT_TRY(auto attribute, carried_attribute(in.model(), in.node(), name));
    if (attribute) lstm.attributes.push_back(*std::move(attribute));
  }
  return std::vector<MadeNode>{std::move(lstm)};
}

}  // namespace lstm
}  // namespace

const WeightOperator kDynamicQuantizeLstm{
    "com.microsoft",    "DynamicQuantizeLSTM", lstm::kW, lstm::kQuantized,
    lstm::plan_weights, lstm::float_nodes,     3,        true};

}  // namespace dequant::format::onnx
