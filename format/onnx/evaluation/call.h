// What the operators of the table share: reading their arguments, and making their outputs.
#pragma once

#include <utility>

#include "format/io/errors.h"
#include "format/onnx/evaluation/evaluation.h"

namespace dequant::format::onnx {

using Numbers = std::vector<int64_t>;

/// The error of a node that its operator does not allow.
template <class... Args>
Error wrong(fmt::format_string<Args...> text, Args&&... args) {
  return failure(ErrorCode::invalid_argument, text, std::forward<Args>(args)...);
}

/// True where the node has an input with that index.
bool has_input(const Call& call, size_t input);

/// Bytes at most of an input that has a number for each dimension or so.
inline constexpr int64_t kMostListBytes = int64_t{32} << 10;

/// The integers of an array of a type with integers.
Result<Numbers> integers(const Array& array);

/// The integers of an input of int64 or int32. Fails with limit for more than `most` bytes.
Result<Numbers> integers(Call& call, size_t input, int64_t most = kMostListBytes);

/// An axis counted from the front.
Result<size_t> axis_of(int64_t axis, size_t rank);

/// Axes that are all different, counted from the front.
Result<std::vector<size_t>> axes_of(const Numbers& numbers, size_t rank);

/// The first input with another shape.
Result<Constant> reshaped(const Call& call, Numbers shape);

/// An output that is computed from the inputs with these indices. Fails with limit where they or
/// the output are too large.
Result<Constant> computed(const Call& call, ArrayType type, const std::vector<size_t>& inputs,
                          Compute compute);

// The operators, each with its name.
Result<Constant> plan_cast(Call& call);
Result<Constant> plan_cast_like(Call& call);
Result<Constant> plan_clip(Call& call);
Result<Constant> plan_concat(Call& call);
Result<Constant> plan_constant_of_shape(Call& call);
/// Constant with value_int or value_ints.
Result<Constant> plan_integers(Call& call);
Result<Constant> plan_div(Call& call);
Result<Constant> plan_flatten(Call& call);
Result<Constant> plan_gather(Call& call);
Result<Constant> plan_mul(Call& call);
Result<Constant> plan_reshape(Call& call);
Result<Constant> plan_slice(Call& call);
Result<Constant> plan_squeeze(Call& call);
Result<Constant> plan_transpose(Call& call);
Result<Constant> plan_unsqueeze(Call& call);

}  // namespace dequant::format::onnx
