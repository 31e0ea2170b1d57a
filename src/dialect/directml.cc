// DirectML's two dequantizing operators: compiling descriptions to plans, and running plans on
// bound buffers.
#include "dialect/directml_operators.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "dialect/blocks.h"
#include "dialect/directml_decisions.h"
#include "plan/strided.h"
#include "text.h"

namespace dequant::directml {
namespace {

int32_t implicit_zero_point(Absent absent, Element input) {
  if (absent == Absent::zero || kind(input) != Kind::unsigned_integer) return 0;
  return int32_t{1} << (bits(input) - 1);
}

Status check_same_sizes(const Tensor& tensor, const Tensor& input, std::string_view remedy) {
  if (std::ranges::equal(tensor.sizes(), input.sizes())) return {};
  return invalid(tensor.name, ": Sizes ", to_string(tensor.sizes()), " differ from those of ",
                 input.name, ", ", to_string(input.sizes()), remedy);
}

Status check_blocks(const Tensor& param, const Tensor& input) {
  for (size_t d = 0; d < input.rank; ++d) {
    if (input.size[d] % param.size[d] == 0) continue;
    return invalid(param.name, ": Sizes ", to_string(param.sizes()), " do not divide those of ",
                   input.name, ", ", to_string(input.sizes()), ", in dimension ", d,
                   "; blocks must all be of one length");
  }
  return {};
}

/// The dimensions of the plan. Sizes of scale and zero point must divide those of x.
Result<std::vector<Dimension>> dimensions_of(const Tensors& t) {
  std::vector<Dimension> dimensions;
  for (size_t d = 0; d < t.input->rank; ++d) {
    const BlockedDimension::Param scale{t.scale->size[d], t.scale->stride[d]};
    const BlockedDimension::Param zero =
        t.zero_point == nullptr
            ? BlockedDimension::Param{scale.size, 0}
            : BlockedDimension::Param{t.zero_point->size[d], t.zero_point->stride[d]};
    const BlockedDimension whole{t.input->size[d], t.input->stride[d], t.output->stride[d], scale,
                                 zero};
    if (append_blocks(dimensions, whole)) continue;
    return Error{ErrorCode::unsupported,
                 concat(t.zero_point->name, ": blocks of ", whole.size / zero.size,
                        " and those of ", t.scale->name, ", of ", whole.size / scale.size,
                        ", in dimension ", d, " do not nest; one length must divide the other")};
  }
  return dimensions;
}

/// The plan of tensors that have passed all checks but that of the output's strides.
Result<Operator> plan_of(const Tensors& t, Absent absent) {
  Plan plan;
  plan.input = t.input->element();
  plan.scale = t.scale->element();
  plan.output = t.output->element();
  plan.rule = kRule;
  plan.has_zero_point = t.zero_point != nullptr;
  if (!plan.has_zero_point) plan.implicit_zero_point = implicit_zero_point(absent, plan.input);
  DEQUANT_TRY(auto dimensions, dimensions_of(t));
  auto strided = strided_plan(std::move(plan), std::move(dimensions));
  // Here only the strides of the output can be wrong.
  if (!strided) {
    return Error{strided.error().code,
                 concat(t.output->name, ": Strides ", to_string(t.output->strides()), " of Sizes ",
                        to_string(t.output->sizes()), ": ", strided.error().message)};
  }
  Operator op;
  op.plan = *std::move(strided);
  op.input_count = t.zero_point != nullptr ? 3 : 2;
  op.input_bytes = {t.input->bytes, t.scale->bytes,
                    t.zero_point != nullptr ? t.zero_point->bytes : 0};
  op.output_bytes = t.output->bytes;
  return op;
}

Result<Operator> compile_element_wise(const DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC& desc,
                                      DML_FEATURE_LEVEL level) {
  const OperatorRules& rules = kElementWiseDequantizeLinear;
  DEQUANT_TRY(const Tensor input, read_tensor("InputTensor", desc.InputTensor, Use::input));
  DEQUANT_TRY(const Tensor scale, read_tensor("ScaleTensor", desc.ScaleTensor, Use::input));
  std::optional<Tensor> zero;
  if (desc.ZeroPointTensor != nullptr) {
    DEQUANT_TRY(zero, read_tensor("ZeroPointTensor", desc.ZeroPointTensor, Use::input));
  }
  DEQUANT_TRY(const Tensor output, read_tensor("OutputTensor", desc.OutputTensor, Use::output));

  const Tensors tensors{&input, &scale, zero ? &*zero : nullptr, &output};
  DEQUANT_CHECK(check_tensors(rules, level, tensors));
  constexpr std::string_view kBroadcast =
      "; they must be equal: broadcast a scalar with Strides of zero";
  DEQUANT_CHECK(check_same_sizes(scale, input, kBroadcast));
  if (zero) DEQUANT_CHECK(check_same_sizes(*zero, input, kBroadcast));
  DEQUANT_CHECK(check_same_sizes(output, input, "; they must be equal"));
  return plan_of(tensors, kElementWiseWithoutZeroPoint);
}

/// The number of quantization tensors that a quantization type requires.
Result<uint32_t> check_quantization(const DML_DEQUANTIZE_OPERATOR_DESC& desc) {
  const uint32_t type = number(desc.QuantizationType);
  const bool with_zero = type == uint32_t{DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT};
  if (!with_zero && type != uint32_t{DML_QUANTIZATION_TYPE_SCALE}) {
    return invalid("QuantizationType: ", type,
                   " is neither DML_QUANTIZATION_TYPE_SCALE (1) nor "
                   "DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT (2)");
  }
  const uint32_t count = with_zero ? 2 : 1;
  if (desc.QuantizationTensorCount != count) {
    return invalid("QuantizationTensorCount: ", desc.QuantizationTensorCount, " where ",
                   with_zero ? "SCALE_ZERO_POINT" : "SCALE", " takes ", count);
  }
  if (desc.QuantizationTensors == nullptr) return invalid("QuantizationTensors: is null");
  return count;
}

Result<Operator> compile_dequantize(const DML_DEQUANTIZE_OPERATOR_DESC& desc,
                                    DML_FEATURE_LEVEL level) {
  DEQUANT_TRY(const Tensor input, read_tensor("InputTensor", desc.InputTensor, Use::input));
  DEQUANT_TRY(const uint32_t count, check_quantization(desc));
  const DML_TENSOR_DESC* const params = desc.QuantizationTensors;
  DEQUANT_TRY(const Tensor scale,
              read_tensor("QuantizationTensors[0] (scale)", params, Use::input));
  std::optional<Tensor> zero;
  if (count == 2) {
    DEQUANT_TRY(zero, read_tensor("QuantizationTensors[1] (zero point)", params + 1, Use::input));
  }
  DEQUANT_TRY(const Tensor output, read_tensor("OutputTensor", desc.OutputTensor, Use::output));

  const Tensors tensors{&input, &scale, zero ? &*zero : nullptr, &output};
  DEQUANT_CHECK(check_tensors(kDequantize, level, tensors));
  DEQUANT_CHECK(check_same_sizes(output, input, "; they must be equal"));
  DEQUANT_CHECK(check_blocks(scale, input));
  if (zero) DEQUANT_CHECK(check_blocks(*zero, input));
  return plan_of(tensors, kDequantizeWithoutZeroPoint);
}

}  // namespace

Result<Operator> compile(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level) {
  if (!is_level(level)) return invalid("level: ", number(level), " is no known DML_FEATURE_LEVEL");
  const uint32_t type = number(desc.Type);
  const bool element_wise = type == uint32_t{DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR};
  if (!element_wise && type != uint32_t{DML_OPERATOR_DEQUANTIZE}) {
    return Error{ErrorCode::unsupported,
                 concat("Type: operator ", type,
                        " is neither DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR (34) nor "
                        "DML_OPERATOR_DEQUANTIZE (174)")};
  }
  DEQUANT_CHECK(check_level(element_wise ? kElementWiseDequantizeLinear : kDequantize, level));
  if (desc.Desc == nullptr)
    return invalid("Desc: is null; it must point to the operator's structure");
  if (element_wise) {
    return compile_element_wise(
        *static_cast<const DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC*>(desc.Desc), level);
  }
  return compile_dequantize(*static_cast<const DML_DEQUANTIZE_OPERATOR_DESC*>(desc.Desc), level);
}

Status execute(const Operator& op, std::span<const std::span<const std::byte>> inputs,
               std::span<std::byte> output, const RunOptions& options) {
  constexpr std::string_view kNames[] = {"input", "scale", "zero point"};
  const uint32_t count = op.plan.has_zero_point ? 3 : 2;
  if (op.input_count != count) {
    return invalid("op: ", op.input_count, " inputs where its plan has ", count);
  }
  if (inputs.size() != count) {
    return invalid("inputs: ", inputs.size(), " buffers are bound where the operator has ", count,
                   count == 3 ? ": input, scale, zero point" : ": input, scale");
  }
  for (size_t i = 0; i < count; ++i) {
    if (inputs[i].size() >= op.input_bytes[i]) continue;
    return invalid("inputs[", i, "] (", kNames[i], "): ", inputs[i].size(),
                   " bytes are bound where TotalTensorSizeInBytes is ", op.input_bytes[i]);
  }
  if (output.size() < op.output_bytes) {
    return invalid("output: ", output.size(), " bytes are bound where TotalTensorSizeInBytes is ",
                   op.output_bytes);
  }
  // Only the bytes of the tensor, as only these must not overlap.
  const auto bound = [&](size_t i) { return inputs[i].first(op.input_bytes[i]); };
  const Buffers buffers{.x = bound(0),
                        .scale = bound(1),
                        .zero_point = count == 3 ? bound(2) : std::span<const std::byte>(),
                        .y = output.first(op.output_bytes)};
  return run(op.plan, buffers, options);
}

}  // namespace dequant::directml
