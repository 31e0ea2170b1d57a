// The DirectML dialect: compiles descriptions of DirectML's dequantization operators to plans,
// which run on the CPU. No DirectML device and no Windows is needed.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dequant/directml/DirectML.h"
#include "dequant/plan.h"

namespace dequant::directml {

/// The bytes that a buffer tensor takes, as DirectML's helper DMLCalcBufferTensorSize counts them:
/// up to the end of the last element that sizes and strides reach, rounded up to a multiple of 4.
/// `sizes` has one number for each dimension, 1 to 8; `strides`, in elements, has as many, or is
/// empty for a packed tensor. Fails with invalid_argument on an unknown type, on another number of
/// dimensions or of strides, on a size of 0, and if the index of an element does not fit in 32
/// bits.
DEQUANT_EXPORT Result<uint64_t> buffer_tensor_size(DML_TENSOR_DATA_TYPE type,
                                                   std::span<const UINT> sizes,
                                                   std::span<const UINT> strides);

/// A compiled operator: a plan, and the sizes that buffers must have to be bound to it. These are
/// the TotalTensorSizeInBytes of the tensors, which execute() demands. run() takes `plan` too, and
/// demands only the bytes that its extents() need.
struct Operator {
  Plan plan;
  uint32_t input_count = 2;               ///< 3 if the operator has a zero point
  std::array<uint64_t, 3> input_bytes{};  ///< of input, scale and zero point, in this order
  uint64_t output_bytes = 0;
};

/// Compiles a description of DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR (feature level 1_0 on) or
/// DML_OPERATOR_DEQUANTIZE (6_3 on) as a device of feature level `level` would. docs/dialects.md
/// says what is chosen where DirectML's documentation leaves a choice. Every pointer in the
/// description must be null or valid until compile() returns; none is kept. Fails with
/// invalid_argument if the description breaks a rule: the message names the tensors, the rule and
/// the values. Fails with unsupported for any other operator; if the operator, a type, a rank or
/// the absence of a zero point needs a later feature level; and if, along a dimension, neither the
/// block length of scales nor that of zero points is a multiple of the other.
DEQUANT_EXPORT Result<Operator> compile(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level);

/// Dequantizes on bound buffers. `inputs` has op.input_count spans, in the order of
/// Operator::input_bytes and each at least so long; `output` has at least op.output_bytes. Memory
/// may have any alignment. Bytes of `output` between and behind its elements stay as they are.
/// Fails as run() does, and also if a buffer is too short; `output` is then untouched.
DEQUANT_EXPORT Status execute(const Operator& op,
                              std::span<const std::span<const std::byte>> inputs,
                              std::span<std::byte> output, const RunOptions& options = {});

}  // namespace dequant::directml
