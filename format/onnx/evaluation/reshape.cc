// Operators that give a constant another shape: Reshape, Flatten, Squeeze, Unsqueeze. Its bytes
// stay where they are.
#include <algorithm>

#include "format/onnx/evaluation/attributes.h"
#include "format/onnx/evaluation/call.h"

namespace dequant::format::onnx {
namespace {

/// The axes of a Squeeze or Unsqueeze: an input since opset 13, an attribute before.
Result<std::optional<Numbers>> given_axes(Call& call) {
  if (call.opset < 13) return read_ints(call.model, call.node, "axes");
  if (!has_input(call, 1)) return std::optional<Numbers>();
  DEQUANT_TRY(Numbers axes, integers(call, 1));
  return std::optional(std::move(axes));
}

}  // namespace

Result<Constant> plan_reshape(Call& call) {
  const Numbers from = call.inputs[0]->array_type().shape;
  DEQUANT_TRY(Numbers shape, integers(call, 1));
  DEQUANT_TRY(const int64_t allow_zero, int_attribute(call.node, "allowzero", 0));
  Numbers known;
  std::optional<size_t> open;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && allow_zero == 0) {
      if (d >= from.size()) return wrong("shape[{}] is 0, and the input has no such dimension", d);
      shape[d] = from[d];
    }
    if (shape[d] == -1) {
      if (open) return wrong("shape has -1 twice");
      open = d;
    } else {
      known.push_back(shape[d]);
    }
  }
  if (open) {
    DEQUANT_TRY(const int64_t rest, count_of({1, known}));
    DEQUANT_TRY(const int64_t count, count_of({1, from}));
    if (rest == 0 || count % rest != 0) return wrong("-1 in shape stands for no whole number");
    shape[*open] = count / rest;
  }
  return reshaped(call, std::move(shape));
}

Result<Constant> plan_flatten(Call& call) {
  const Numbers from = call.inputs[0]->array_type().shape;
  DEQUANT_TRY(int64_t axis, int_attribute(call.node, "axis", 1));
  const auto rank = static_cast<int64_t>(from.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return wrong("axis {} of a tensor of {} dimensions", axis, rank);
  DEQUANT_TRY(const int64_t outer, count_of({1, {from.begin(), from.begin() + axis}}));
  DEQUANT_TRY(const int64_t inner, count_of({1, {from.begin() + axis, from.end()}}));
  return reshaped(call, {outer, inner});
}

Result<Constant> plan_squeeze(Call& call) {
  const Numbers from = call.inputs[0]->array_type().shape;
  DEQUANT_TRY(const auto given, given_axes(call));
  std::vector<size_t> axes;
  if (given) {
    DEQUANT_TRY(axes, axes_of(*given, from.size()));
  }
  Numbers shape;
  for (size_t d = 0; d < from.size(); ++d) {
    const bool named = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (named && from[d] != 1) return wrong("dimension {} is {}, not 1", d, from[d]);
    if (given ? !named : from[d] != 1) shape.push_back(from[d]);
  }
  return reshaped(call, std::move(shape));
}

Result<Constant> plan_unsqueeze(Call& call) {
  const Numbers from = call.inputs[0]->array_type().shape;
  DEQUANT_TRY(const auto given, given_axes(call));
  if (!given) return wrong("axes are missing");
  const size_t rank = from.size() + given->size();
  DEQUANT_TRY(const auto axes, axes_of(*given, rank));
  Numbers shape;
  auto next = from.begin();
  for (size_t d = 0; d < rank; ++d) {
    const bool named = std::find(axes.begin(), axes.end(), d) != axes.end();
    shape.push_back(named ? 1 : *next++);
  }
  return reshaped(call, std::move(shape));
}

}  // namespace dequant::format::onnx
