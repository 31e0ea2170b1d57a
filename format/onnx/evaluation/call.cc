// What the operators of the table share.
#include "format/onnx/evaluation/call.h"

#include <algorithm>
#include <cstring>

#include "format/onnx/evaluation/cast.h"

namespace dequant::format::onnx {
namespace {

/// An output of more than this has at most so many times the bytes of the inputs of its node, so
/// that a small file does not make large tensors.
constexpr int64_t kMostGrown = int64_t{64} << 20;
constexpr int64_t kMostTimes = 8;

Status check_size(const Evaluation& e) {
  DEQUANT_TRY(const int64_t out, bytes_of(e.type));
  int64_t in = 0;
  for (const Constant& c : e.inputs) {
    DEQUANT_TRY(const int64_t bytes, bytes_of(c.array_type()));
    if (__builtin_add_overflow(in, bytes, &in)) in = INT64_MAX;
  }
  if (out > kMostGrown && out / kMostTimes > in) {
    return failure(ErrorCode::limit,
                   "its output has {} bytes, over 64 MiB and over {} times its inputs", out,
                   kMostTimes);
  }
  if (in <= kMostEvaluated && out <= kMostEvaluated - in) return {};
  return failure(ErrorCode::limit,
                 "its inputs and output have {} and {} bytes, over the 1 GiB that are evaluated in "
                 "memory",
                 in, out);
}

}  // namespace

Result<Numbers> integers(const Array& array) {
  DEQUANT_TRY(const Array wide, cast(array, kInt64));
  Numbers out(wide.bytes.size() / sizeof(int64_t));
  if (!out.empty()) std::memcpy(out.data(), wide.bytes.data(), wide.bytes.size());
  return out;
}

Result<Numbers> integers(Call& call, size_t input, int64_t most) {
  const Constant& constant = *call.inputs[input];
  const int32_t type = constant.array_type().data_type;
  if (type != kInt64 && type != onnx_code(Element::int32))
    return wrong("input {} has data type {}, not int64 or int32", input, type);
  DEQUANT_TRY(const Array array, array_of(call.model, call.files, constant, most));
  return integers(array);
}

bool has_input(const Call& call, size_t input) {
  return input < call.inputs.size() && call.inputs[input];
}

Result<size_t> axis_of(int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (axis >= -r && axis < r) return static_cast<size_t>(axis < 0 ? axis + r : axis);
  return wrong("axis {} of a tensor of {} dimensions", axis, rank);
}

Result<std::vector<size_t>> axes_of(const Numbers& numbers, size_t rank) {
  std::vector<size_t> axes;
  for (const int64_t n : numbers) {
    DEQUANT_TRY(const size_t axis, axis_of(n, rank));
    if (std::find(axes.begin(), axes.end(), axis) != axes.end())
      return wrong("axis {} twice", axis);
    axes.push_back(axis);
  }
  return axes;
}

Result<Constant> reshaped(const Call& call, Numbers shape) {
  Constant out = *call.inputs[0];
  const auto before = count_of(out.array_type());
  const auto after = count_of({1, shape});
  if (!before || !after || *before != *after)
    return wrong("its output has not as many elements as its input");
  out.shape = std::make_shared<const Numbers>(std::move(shape));
  return out;
}

Result<Constant> computed(const Call& call, ArrayType type, const std::vector<size_t>& inputs,
                          Compute compute) {
  Evaluation e{&call.node, std::move(type), {}, std::move(compute), 1};
  for (const size_t i : inputs) e.inputs.push_back(*call.inputs[i]);
  for (const auto& input : call.inputs) {
    if (input) e.nodes += input->nodes();
  }
  DEQUANT_CHECK(check_size(e));
  Constant out;
  out.evaluated = std::make_shared<const Evaluation>(std::move(e));
  return out;
}

}  // namespace dequant::format::onnx
