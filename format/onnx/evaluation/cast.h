// Converting, limiting and multiplying the numbers of arrays, as ONNX's Cast, Clip, Mul and Div do.
#pragma once

#include <optional>

#include "format/onnx/evaluation/array.h"

namespace dequant::format::onnx {

/// True for the types that cast() takes and returns.
bool can_cast_from(int32_t data_type);
bool can_cast_to(int32_t data_type);

/// The same numbers in another type: integers that fit, floats rounded once to nearest, floats to
/// integers toward zero. Fails with invalid_argument at a number for which ONNX leaves the result
/// undefined or implementations round twice.
Result<Array> cast(const Array& from, int32_t to);

/// True for the types that clip() takes: integers of 8 bits and more.
bool can_clip(int32_t data_type);

/// The same integers within limits, which are integers of the type. Where the lower limit is
/// greater, all are the upper one.
Array clip(const Array& from, std::optional<int64_t> low, std::optional<int64_t> high);

enum class Arithmetic : uint8_t { multiply, divide };

/// True for the types of calculate(): float32, float16, bfloat16.
bool can_calculate(int32_t data_type);

/// Products or quotients of arrays of one type and shape, each rounded once to that type.
Array calculate(Arithmetic operation, const Array& a, const Array& b);

}  // namespace dequant::format::onnx
