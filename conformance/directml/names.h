// Reading the names of DirectML's enumerators from JSON, with or without their prefix.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "dequant/directml.h"

namespace dequant::conformance::directml {

/// A value and how JSON spells it.
template <class T>
struct Named {
  std::string_view name;
  T value;
};

/// The operator of a name. Fails with unsupported for all but the two that dequantize.
Result<DML_OPERATOR_TYPE> read_operator(std::string_view name);

// The enumerator of a name. Each function fails with malformed on a name that is none.
Result<DML_TENSOR_DATA_TYPE> read_data_type(std::string_view name);
Result<DML_TENSOR_TYPE> read_tensor_type(std::string_view name);
Result<DML_QUANTIZATION_TYPE> read_quantization_type(std::string_view name);

/// The flags of a name, or of an array of names. Fails with malformed.
Result<DML_TENSOR_FLAGS> read_tensor_flags(const nlohmann::json& value);

}  // namespace dequant::conformance::directml
