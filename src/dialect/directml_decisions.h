// Decisions where DirectML's documents leave a choice. docs/dialects.md has the reasons, under the
// same names: change both together.
#pragma once

#include <cstdint>

#include "dequant/plan.h"
#include "dialect/directml_names.h"

namespace dequant::directml {

/// The zero point where a node has none.
enum class Absent : uint8_t {
  zero,
  midpoint,  ///< 2^(bits - 1) of an unsigned type, 0 of a signed one
};

inline constexpr Absent kElementWiseWithoutZeroPoint = Absent::zero;
inline constexpr Absent kDequantizeWithoutZeroPoint = Absent::midpoint;

/// The order of operations, and with it every rounding.
inline constexpr Rule kRule = Rule::subtract_then_scale;

/// Input types of DML_DEQUANTIZE. Browsers also use 32-bit integers, which the documents do not
/// list.
inline constexpr TypeSet kDequantizeInput{DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_UINT8,
                                          DML_TENSOR_DATA_TYPE_INT4, DML_TENSOR_DATA_TYPE_UINT4};

/// Whether an output may carry DML_TENSOR_FLAG_OWNED_BY_DML.
inline constexpr bool kOutputMayBeOwned = false;

/// Elements of a tensor at most, by its Sizes; elements that zero strides repeat count too.
inline constexpr uint64_t kMaxElements = UINT32_MAX;

}  // namespace dequant::directml
