// Operators that compute numbers, each rounded once at most: Cast, CastLike, Clip, Mul, Div.
#include <algorithm>

#include "format/onnx/evaluation/call.h"
#include "format/onnx/evaluation/cast.h"
#include "format/onnx/evaluation/move.h"

namespace dequant::format::onnx {
namespace {

Result<Constant> plan_cast_to(Call& call, int64_t to) {
  ArrayType type = call.inputs[0]->array_type();
  if (type.data_type == to) return *call.inputs[0];
  const auto target = static_cast<int32_t>(to);
  if (target != to || !can_cast_from(type.data_type) || !can_cast_to(target))
    return failure(ErrorCode::unsupported, "from data type {} to {}", type.data_type, to);
  const auto from = element_from_onnx(type.data_type);
  const auto into = element_from_onnx(target);
  type.data_type = target;
  DEQUANT_TRY(Constant out,
              computed(call, std::move(type), {0},
                       [target](const std::vector<Array>& in) { return cast(in[0], target); }));
  const bool always = from && kind(*from) == Kind::floating && into && is_output(*into);
  if (always) return out;
  // Whether all numbers have a result is found before anything is written.
  DEQUANT_TRY(const Array in, array_of(call.model, call.files, *call.inputs[0], kMostEvaluated));
  DEQUANT_TRY([[maybe_unused]] const Array tried, cast(in, target));
  return out;
}

/// The integer of an input that limits others of a type; nothing where it is left out.
Result<std::optional<int64_t>> limit_of(Call& call, size_t input, int32_t data_type) {
  std::optional<int64_t> limit;
  if (!has_input(call, input)) return limit;
  const ArrayType type = call.inputs[input]->array_type();
  if (type.data_type != data_type)
    return wrong("input {} has data type {}, the first {}", input, type.data_type, data_type);
  DEQUANT_TRY(const int64_t count, count_of(type));
  if (count != 1) return wrong("input {} has {} numbers, where a limit is one", input, count);
  DEQUANT_TRY(const Array array,
              array_of(call.model, call.files, *call.inputs[input], kMostListBytes));
  DEQUANT_TRY(const Numbers numbers, integers(array));
  limit = numbers[0];
  return limit;
}

/// numpy's broadcasting of one of the inputs to the shape of the output.
Array broadcast(const Array& a, const Numbers& shape) {
  const Numbers strides = strides_of(a.type.shape);
  const size_t missing = shape.size() - strides.size();
  std::vector<Walk> walks;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool repeats = d < missing || a.type.shape[d - missing] == 1;
    walks.push_back({shape[d], 0, repeats ? 0 : strides[d - missing]});
  }
  return moved(a, walks, shape);
}

Result<Constant> plan_arithmetic(Call& call, Arithmetic operation) {
  const ArrayType a = call.inputs[0]->array_type();
  const ArrayType b = call.inputs[1]->array_type();
  if (a.data_type != b.data_type || !can_calculate(a.data_type))
    return failure(ErrorCode::unsupported, "of data types {} and {}", a.data_type, b.data_type);
  Numbers shape(std::max(a.shape.size(), b.shape.size()), 1);
  for (const ArrayType* type : {&a, &b}) {
    const size_t missing = shape.size() - type->shape.size();
    for (size_t d = missing; d < shape.size(); ++d) {
      const int64_t size = type->shape[d - missing];
      if (shape[d] != 1 && size != 1 && size != shape[d])
        return wrong("shapes that do not broadcast: {} and {} in dimension {}", shape[d], size, d);
      if (size != 1) shape[d] = size;
    }
  }
  return computed(call, {a.data_type, shape}, {0, 1},
                  [operation, shape](const std::vector<Array>& in) -> Result<Array> {
                    return calculate(operation, broadcast(in[0], shape), broadcast(in[1], shape));
                  });
}

}  // namespace

Result<Constant> plan_cast(Call& call) {
  const Attribute* to = call.node.attribute("to");
  if (to == nullptr) return wrong("to is missing");
  return plan_cast_to(call, to->i);
}

Result<Constant> plan_cast_like(Call& call) {
  if (call.like == 0)
    return failure(ErrorCode::unsupported, "the type of its second input is not known");
  return plan_cast_to(call, call.like);
}

Result<Constant> plan_clip(Call& call) {
  const ArrayType type = call.inputs[0]->array_type();
  if (!can_clip(type.data_type))
    return failure(ErrorCode::unsupported, "of data type {}, no integer of 8 to 64 bits",
                   type.data_type);
  DEQUANT_TRY(const auto low, limit_of(call, 1, type.data_type));
  DEQUANT_TRY(const auto high, limit_of(call, 2, type.data_type));
  if (!low && !high) return *call.inputs[0];
  return computed(call, type, {0}, [low, high](const std::vector<Array>& in) -> Result<Array> {
    return clip(in[0], low, high);
  });
}

Result<Constant> plan_mul(Call& call) { return plan_arithmetic(call, Arithmetic::multiply); }
Result<Constant> plan_div(Call& call) { return plan_arithmetic(call, Arithmetic::divide); }

}  // namespace dequant::format::onnx
