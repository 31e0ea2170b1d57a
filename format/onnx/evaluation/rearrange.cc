// Operators that move or repeat numbers: Transpose, Slice, Concat, Gather, ConstantOfShape,
// Constant of integers.
#include <algorithm>
#include <cstring>

#include "format/onnx/evaluation/attributes.h"
#include "format/onnx/evaluation/call.h"
#include "format/onnx/evaluation/move.h"

namespace dequant::format::onnx {
namespace {

/// Bytes at most of the indices of a Gather, which are read before anything is written.
constexpr int64_t kMostIndexBytes = int64_t{64} << 20;

/// An output whose elements are those of the first input along walks.
Result<Constant> walked(const Call& call, std::vector<Walk> walks) {
  ArrayType type = call.inputs[0]->array_type();
  type.shape.clear();
  for (const Walk& w : walks) type.shape.push_back(w.size);
  Numbers shape = type.shape;
  return computed(call, std::move(type), {0},
                  [walks = std::move(walks), shape = std::move(shape)](const std::vector<Array>& in)
                      -> Result<Array> { return moved(in[0], walks, shape); });
}

/// The indices from `start` to before `end` by `step`, clamped as ONNX does.
Walk slice(int64_t size, int64_t start, int64_t end, int64_t step) {
  const bool up = step > 0;
  const auto clamp = [&](int64_t i) {
    if (i < 0) i = i < -size ? -1 : i + size;
    return up ? std::clamp<int64_t>(i, 0, size) : std::clamp<int64_t>(i, -1, size - 1);
  };
  const int64_t first = clamp(start);
  const int64_t last = clamp(end);
  // Steps may be as large as int64_t: of these one fits at most.
  int64_t count = 0;
  if (up && first < last) count = (last - first - 1) / step + 1;
  if (!up && first > last) count = step == INT64_MIN ? 1 : (first - last - 1) / -step + 1;
  return {count, count == 0 ? 0 : first, count <= 1 ? 0 : step};
}

}  // namespace

Result<Constant> plan_transpose(Call& call) {
  const Numbers from = call.inputs[0]->array_type().shape;
  DEQUANT_TRY(auto perm, read_ints(call.model, call.node, "perm"));
  if (!perm) {
    perm.emplace();
    for (size_t d = from.size(); d-- > 0;) perm->push_back(static_cast<int64_t>(d));
  }
  DEQUANT_TRY(const auto axes, axes_of(*perm, from.size()));
  if (axes.size() != from.size())
    return wrong("perm has {} numbers, for {} dimensions", axes.size(), from.size());
  const Numbers strides = strides_of(from);
  std::vector<Walk> walks;
  for (const size_t a : axes) walks.push_back({from[a], 0, strides[a]});
  return walked(call, std::move(walks));
}

Result<Constant> plan_slice(Call& call) {
  const Numbers from = call.inputs[0]->array_type().shape;
  DEQUANT_TRY(const Numbers starts, integers(call, 1));
  DEQUANT_TRY(const Numbers ends, integers(call, 2));
  Numbers axes;
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (has_input(call, 3)) {
    DEQUANT_TRY(axes, integers(call, 3));
  }
  Numbers steps(starts.size(), 1);
  if (has_input(call, 4)) {
    DEQUANT_TRY(steps, integers(call, 4));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return wrong("starts, ends, axes and steps have not the same length");
  DEQUANT_TRY(const auto at, axes_of(axes, from.size()));
  const Numbers strides = strides_of(from);
  std::vector<Walk> walks;
  for (size_t d = 0; d < from.size(); ++d) walks.push_back({from[d], 0, strides[d]});
  for (size_t i = 0; i < at.size(); ++i) {
    if (steps[i] == 0) return wrong("a step is 0");
    if (steps[i] < 0 && starts[i] < -from[at[i]])
      return wrong("a start before the first element, backwards, where implementations differ");
    if (steps[i] < 0 && (ends[i] == INT32_MAX || ends[i] == INT64_MAX))
      return wrong("an end of the largest integer, backwards, where implementations differ");
    Walk w = slice(from[at[i]], starts[i], ends[i], steps[i]);
    w.begin *= strides[at[i]];
    w.step *= strides[at[i]];
    walks[at[i]] = std::move(w);
  }
  return walked(call, std::move(walks));
}

Result<Constant> plan_concat(Call& call) {
  ArrayType type = call.inputs[0]->array_type();
  const Attribute* axis = call.node.attribute("axis");
  if (axis == nullptr) return wrong("axis is missing");
  DEQUANT_TRY(const size_t at, axis_of(axis->i, type.shape.size()));
  if (call.node.inputs.size() > call.inputs.size())
    return wrong("more than {} inputs", call.inputs.size());
  std::vector<size_t> inputs{0};
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    if (!call.inputs[i]) return wrong("input {} is missing", i);
    ArrayType next = call.inputs[i]->array_type();
    if (next.data_type != type.data_type || next.shape.size() != type.shape.size())
      return wrong("input {} has another type or rank than the first", i);
    if (__builtin_add_overflow(type.shape[at], next.shape[at], &type.shape[at]))
      return wrong("its output is too large");
    next.shape[at] = type.shape[at];
    if (next.shape != type.shape) return wrong("input {} has another shape than the first", i);
    inputs.push_back(i);
  }
  Numbers shape = type.shape;
  return computed(call, std::move(type), std::move(inputs),
                  [at, shape = std::move(shape)](const std::vector<Array>& in) -> Result<Array> {
                    return joined(in, at, shape);
                  });
}

Result<Constant> plan_gather(Call& call) {
  const ArrayType from = call.inputs[0]->array_type();
  DEQUANT_TRY(const int64_t axis, int_attribute(call.node, "axis", 0));
  DEQUANT_TRY(const size_t at, axis_of(axis, from.shape.size()));
  const int64_t size = from.shape[at];
  DEQUANT_TRY(const Numbers indices, integers(call, 1, kMostIndexBytes));
  for (const int64_t i : indices) {
    if (i < -size || i >= size) return wrong("index {} of a dimension of {}", i, size);
  }
  const Numbers picked = call.inputs[1]->array_type().shape;
  const auto split = from.shape.begin() + static_cast<std::ptrdiff_t>(at);
  Numbers shape(from.shape.begin(), split);
  shape.insert(shape.end(), picked.begin(), picked.end());
  shape.insert(shape.end(), split + 1, from.shape.end());
  const auto gather = [from, at, shape](const std::vector<Array>& in) -> Result<Array> {
    const Numbers strides = strides_of(from.shape);
    DEQUANT_TRY(Numbers table, integers(in[1]));
    for (int64_t& i : table) i = (i < 0 ? i + from.shape[at] : i) * strides[at];
    std::vector<Walk> walks;
    for (size_t d = 0; d < from.shape.size(); ++d) walks.push_back({from.shape[d], 0, strides[d]});
    walks[at] = {static_cast<int64_t>(table.size()), 0, 0, std::move(table)};
    return moved(in[0], walks, shape);
  };
  return computed(call, {from.data_type, shape}, {0, 1}, gather);
}

Result<Constant> plan_constant_of_shape(Call& call) {
  DEQUANT_TRY(Numbers shape, integers(call, 0));
  Array one{{onnx_code(Element::float32), {1}}, std::vector<std::byte>(4)};
  if (const Attribute* a = call.node.attribute("value"); a != nullptr) {
    if (a->tensor == nullptr) return wrong("value is no tensor");
    DEQUANT_TRY(one, read_array(call.model, call.files, *a->tensor, 8));
    DEQUANT_TRY(const int64_t count, count_of(one.type));
    if (count != 1) return wrong("value has {} elements", count);
  }
  std::vector<Walk> walks;
  for (const int64_t size : shape) walks.push_back({size, 0, 0});
  ArrayType type{one.type.data_type, shape};
  return computed(
      call, std::move(type), {},
      [one = std::move(one), walks = std::move(walks),
       shape](const std::vector<Array>&) -> Result<Array> { return moved(one, walks, shape); });
}

Result<Constant> plan_integers(Call& call) {
  DEQUANT_TRY(const auto list, read_ints(call.model, call.node, "value_ints"));
  Numbers numbers = list.value_or(Numbers());
  if (!list) {
    DEQUANT_TRY(const int64_t one, int_attribute(call.node, "value_int", 0));
    numbers = {one};
  }
  Array array{{kInt64, {}}, std::vector<std::byte>(numbers.size() * sizeof(int64_t))};
  if (list) array.type.shape = {static_cast<int64_t>(numbers.size())};
  if (!numbers.empty()) std::memcpy(array.bytes.data(), numbers.data(), array.bytes.size());
  ArrayType type = array.type;
  return computed(
      call, std::move(type), {},
      [array = std::move(array)](const std::vector<Array>&) -> Result<Array> { return array; });
}

}  // namespace dequant::format::onnx
