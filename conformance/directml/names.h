// Names of DirectML's enumerations as they stand in JSON: with their prefix or without.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "dequant/directml.h"

namespace dequant::conformance::directml {

/// Fails with unsupported on any operator but the two that dequantize.
Result<DML_OPERATOR_TYPE> read_operator(std::string_view name);

// These fail with malformed on a name that the enumeration has not.
Result<DML_TENSOR_DATA_TYPE> read_data_type(std::string_view name);
Result<DML_TENSOR_TYPE> read_tensor_type(std::string_view name);
Result<DML_QUANTIZATION_TYPE> read_quantization_type(std::string_view name);

/// A name, or an array of names.
Result<DML_TENSOR_FLAGS> read_tensor_flags(const nlohmann::json& value);

}  // namespace dequant::conformance::directml
