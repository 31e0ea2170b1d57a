// Operators that move quantized numbers and compute none.
#include "format/onnx/moving.h"

#include <algorithm>

#include "format/io/errors.h"
#include "format/onnx/evaluation/attributes.h"

namespace dequant::format::onnx {
namespace {

constexpr MovingOperator kOperators[] = {
    {"ArgMax", Carries::into_indices, Demand::order, Slices::of_others, "axis"},
    {"ArgMin", Carries::into_indices, Demand::order, Slices::of_others, "axis"},
    {"Compress", Carries::first, Demand::nothing},
    {"Concat", Carries::all, Demand::nothing, Slices::of_others, "axis"},
    {"DepthToSpace", Carries::first, Demand::nothing},
    {"Expand", Carries::first, Demand::nothing, Slices::of_equal},
    {"Flatten", Carries::first, Demand::nothing, Slices::of_counted},
    {"Gather", Carries::first, Demand::nothing, Slices::of_gathered, "axis"},
    {"GatherElements", Carries::first, Demand::nothing},
    {"GatherND", Carries::first, Demand::nothing},
    {"Identity", Carries::first, Demand::nothing, Slices::of_all},
    {"MaxPool", Carries::first, Demand::windows, Slices::of_batch_and_channels},
    {"Pad", Carries::first, Demand::padding, Slices::of_unpadded},
    {"Reshape", Carries::first, Demand::nothing, Slices::of_counted},
    {"Resize", Carries::first, Demand::nearest},
    {"ReverseSequence", Carries::first, Demand::nothing, Slices::of_others, "time_axis"},
    {"Slice", Carries::first, Demand::nothing, Slices::of_unlisted},
    {"SpaceToDepth", Carries::first, Demand::nothing},
    {"Split", Carries::all_outputs, Demand::nothing, Slices::of_others, "axis"},
    {"Squeeze", Carries::first, Demand::nothing, Slices::of_counted},
    {"Tile", Carries::first, Demand::nothing, Slices::of_equal},
    {"Transpose", Carries::first, Demand::nothing, Slices::of_permuted},
    {"Unsqueeze", Carries::first, Demand::nothing, Slices::of_counted},
    {"Where", Carries::second_and_third, Demand::nothing, Slices::of_equal},
};

std::string order_reason(const MovedNumbers& numbers) {
  return numbers.scale > 0 ? "" : "its scale is negative, which reverses the order";
}

/// Every window has a number of x: with paddings smaller than the kernel, and no gaps in it.
Result<std::string> windows_reason(const Model& model, const Node& node,
                                   const MovedNumbers& numbers) {
  if (std::string reason = order_reason(numbers); !reason.empty()) return reason;
  if (numbers.type == Element::bfloat16 && numbers.opset < 22)
    return std::string("MaxPool of bfloat16 came with opset 22");
  if (!node.output(1).empty()) return std::string("its indices may be others for equal floats");
  DEQUANT_TRY(const int64_t ceil, int_attribute(node, "ceil_mode", 0));
  DEQUANT_TRY(const auto dilations, read_ints(model, node, "dilations"));
  DEQUANT_TRY(const auto kernel, read_ints(model, node, "kernel_shape"));
  DEQUANT_TRY(const auto pads, read_ints(model, node, "pads"));
  const bool dense = !dilations || std::all_of(dilations->begin(), dilations->end(),
                                               [](int64_t d) { return d == 1; });
  bool inside = kernel.has_value();
  for (size_t i = 0; inside && pads && i < pads->size(); ++i)
    inside = !kernel->empty() && (*pads)[i] < (*kernel)[i % kernel->size()];
  if (ceil == 0 && dense && inside) return std::string();
  return std::string("a window may be padding alone");
}

Result<std::string> padding_reason(const Model& model, const Node& node,
                                   const MovedNumbers& numbers, std::optional<double> padding) {
  DEQUANT_TRY(const auto mode, read_string(model, node, "mode"));
  if (mode.value_or("constant") != "constant") return std::string();
  if (numbers.opset < 11) return std::string("before opset 11 its padding is an attribute");
  if (!(numbers.scale > 0)) return std::string("its scale is negative, so its padding is -0");
  if (padding && *padding == numbers.zero_point) return std::string();
  return std::string("its padding is not the zero point");
}

Result<std::string> nearest_reason(const Model& model, const Node& node) {
  DEQUANT_TRY(const auto mode, read_string(model, node, "mode"));
  DEQUANT_TRY(const auto coordinates, read_string(model, node, "coordinate_transformation_mode"));
  if (mode.value_or("nearest") != "nearest") return std::string("its mode is not nearest");
  if (coordinates.value_or("") == "tf_crop_and_resize")
    return std::string("it has a number for what lies outside");
  return std::string();
}

}  // namespace

const MovingOperator* moving_operator(const Node& node) {
  for (const MovingOperator& op : kOperators) {
    if (node.is(op.name) && !node.inputs.empty() && !node.outputs.empty()) return &op;
  }
  return nullptr;
}

bool carries_input(const MovingOperator& op, size_t input) {
  switch (op.carries) {
    case Carries::all: return true;
    case Carries::second_and_third: return input == 1 || input == 2;
    default: return input == 0;
  }
}

size_t carried_outputs(const MovingOperator& op, const Node& node) {
  switch (op.carries) {
    case Carries::all_outputs: return node.outputs.size();
    case Carries::into_indices: return 0;
    default: return std::min<size_t>(node.outputs.size(), 1);
  }
}

Result<std::string> moves_otherwise(const Model& model, const MovingOperator& op, const Node& node,
                                    const MovedNumbers& numbers, std::optional<double> padding) {
  for (const Attribute& a : node.attributes) {
    if (!a.reference.empty())
      return fmt::format("{} is an attribute of its function", escaped(a.name));
  }
  switch (op.demand) {
    case Demand::nothing: return std::string();
    case Demand::order: return order_reason(numbers);
    case Demand::windows: return windows_reason(model, node, numbers);
    case Demand::padding: return padding_reason(model, node, numbers, padding);
    case Demand::nearest: return nearest_reason(model, node);
  }
  return std::string();
}

}  // namespace dequant::format::onnx
