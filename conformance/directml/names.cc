// Names of data types, tensor types and flags. Names of operators and quantization types are in
// node.cc.
#include "conformance/directml/names.h"

#include <algorithm>
#include <array>

#include "conformance/directml/node.h"
#include "format/json/json.h"

namespace dequant::conformance::directml {

using format::bad;
using format::escaped;
using format::failure;
using format::shown;

namespace {

constexpr auto kDataTypes = std::to_array<Named<DML_TENSOR_DATA_TYPE>>({
    {"UNKNOWN", DML_TENSOR_DATA_TYPE_UNKNOWN},
    {"FLOAT32", DML_TENSOR_DATA_TYPE_FLOAT32},
    {"FLOAT16", DML_TENSOR_DATA_TYPE_FLOAT16},
    {"UINT32", DML_TENSOR_DATA_TYPE_UINT32},
    {"UINT16", DML_TENSOR_DATA_TYPE_UINT16},
    {"UINT8", DML_TENSOR_DATA_TYPE_UINT8},
    {"INT32", DML_TENSOR_DATA_TYPE_INT32},
    {"INT16", DML_TENSOR_DATA_TYPE_INT16},
    {"INT8", DML_TENSOR_DATA_TYPE_INT8},
    {"FLOAT64", DML_TENSOR_DATA_TYPE_FLOAT64},
    {"UINT64", DML_TENSOR_DATA_TYPE_UINT64},
    {"INT64", DML_TENSOR_DATA_TYPE_INT64},
    {"UINT4", DML_TENSOR_DATA_TYPE_UINT4},
    {"INT4", DML_TENSOR_DATA_TYPE_INT4},
});

constexpr auto kTensorTypes = std::to_array<Named<DML_TENSOR_TYPE>>({
    {"INVALID", DML_TENSOR_TYPE_INVALID},
    {"BUFFER", DML_TENSOR_TYPE_BUFFER},
});

constexpr auto kTensorFlags = std::to_array<Named<DML_TENSOR_FLAGS>>({
    {"NONE", DML_TENSOR_FLAG_NONE},
    {"OWNED_BY_DML", DML_TENSOR_FLAG_OWNED_BY_DML},
});

std::string_view without(std::string_view prefix, std::string_view name) {
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return name;
}

template <class Enum, size_t N>
Result<Enum> find(const std::array<Named<Enum>, N>& names, std::string_view key,
                  std::string_view type, std::string_view name) {
  const std::string_view short_name = without(fmt::format("{}_", type), name);
  const auto found = std::find_if(names.begin(), names.end(), [&](const Named<Enum>& known) {
    return known.name == short_name;
  });
  if (found != names.end()) return found->value;
  return bad("{}: \"{}\" is no {}", key, escaped(name), type);
}

}  // namespace

Result<DML_OPERATOR_TYPE> read_operator(std::string_view name) {
  if (const auto type = operator_from_name(without("DML_OPERATOR_", name))) return *type;
  return failure(ErrorCode::unsupported,
                 "Type: \"{}\" is neither ELEMENT_WISE_DEQUANTIZE_LINEAR nor DEQUANTIZE",
                 escaped(name));
}

Result<DML_QUANTIZATION_TYPE> read_quantization_type(std::string_view name) {
  if (const auto type = quantization_from_name(without("DML_QUANTIZATION_TYPE_", name)))
    return *type;
  return bad("QuantizationType: \"{}\" is not NONE, SCALE or SCALE_ZERO_POINT", escaped(name));
}

Result<DML_TENSOR_DATA_TYPE> read_data_type(std::string_view name) {
  return find(kDataTypes, "DataType", "DML_TENSOR_DATA_TYPE", name);
}

Result<DML_TENSOR_TYPE> read_tensor_type(std::string_view name) {
  return find(kTensorTypes, "Type", "DML_TENSOR_TYPE", name);
}

Result<DML_TENSOR_FLAGS> read_tensor_flags(const nlohmann::json& value) {
  DML_TENSOR_FLAGS flags = DML_TENSOR_FLAG_NONE;
  const nlohmann::json list = value.is_array() ? value : nlohmann::json::array({value});
  for (const nlohmann::json& name : list) {
    if (!name.is_string()) return bad("Flags: {} is not a string", shown(name));
    DEQUANT_TRY(const DML_TENSOR_FLAGS flag,
                find(kTensorFlags, "Flags", "DML_TENSOR_FLAG", name.get_ref<const std::string&>()));
    flags |= flag;
  }
  return flags;
}

}  // namespace dequant::conformance::directml
