// The types and ranks of each operator at each feature level: a row for each change.
#pragma once

#include <span>
#include <string_view>

#include "dialect/directml_tensor.h"

namespace dequant::directml {

/// What an operator allows from a feature level on.
struct OperatorLevel {
  DML_FEATURE_LEVEL since;
  TypeSet input;
  TypeSet scale;
  uint32_t min_rank;
  uint32_t max_rank;
  bool needs_zero_point;
};

struct OperatorRules {
  std::string_view name;
  std::span<const OperatorLevel> levels;  ///< oldest first
};

extern const OperatorRules kElementWiseDequantizeLinear;
extern const OperatorRules kDequantize;

/// The tensors of an operator; the zero point is null where there is none.
struct Tensors {
  const Tensor* input;
  const Tensor* scale;
  const Tensor* zero_point;
  const Tensor* output;
};

/// Checks that the feature level has the operator, with these types and ranks. Fails with
/// unsupported where a later level allows them, otherwise with invalid_argument.
Status check_level(const OperatorRules& rules, DML_FEATURE_LEVEL level);
Status check_tensors(const OperatorRules& rules, DML_FEATURE_LEVEL level, const Tensors& tensors);

}  // namespace dequant::directml
