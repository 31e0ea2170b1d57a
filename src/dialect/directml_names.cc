// The tables of data types and feature levels.
#include "dialect/directml_names.h"

#include <algorithm>
#include <array>

#include "text.h"

namespace dequant::directml {
namespace {

// clang-format off
constexpr std::array kDataTypes{
    DataType{DML_TENSOR_DATA_TYPE_FLOAT32, "FLOAT32", 32, Element::float32},
    DataType{DML_TENSOR_DATA_TYPE_FLOAT16, "FLOAT16", 16, Element::float16},
    DataType{DML_TENSOR_DATA_TYPE_UINT32,  "UINT32",  32, Element::uint32},
    DataType{DML_TENSOR_DATA_TYPE_UINT16,  "UINT16",  16, Element::uint16},
    DataType{DML_TENSOR_DATA_TYPE_UINT8,   "UINT8",    8, Element::uint8},
    DataType{DML_TENSOR_DATA_TYPE_INT32,   "INT32",   32, Element::int32},
    DataType{DML_TENSOR_DATA_TYPE_INT16,   "INT16",   16, Element::int16},
    DataType{DML_TENSOR_DATA_TYPE_INT8,    "INT8",     8, Element::int8},
    DataType{DML_TENSOR_DATA_TYPE_FLOAT64, "FLOAT64", 64, std::nullopt},
    DataType{DML_TENSOR_DATA_TYPE_UINT64,  "UINT64",  64, std::nullopt},
    DataType{DML_TENSOR_DATA_TYPE_INT64,   "INT64",   64, std::nullopt},
    DataType{DML_TENSOR_DATA_TYPE_UINT4,   "UINT4",    4, Element::uint4},
    DataType{DML_TENSOR_DATA_TYPE_INT4,    "INT4",     4, Element::int4},
};
// clang-format on

struct Level {
  DML_FEATURE_LEVEL level;
  std::string_view name;
};

constexpr std::array kLevels{
    Level{DML_FEATURE_LEVEL_1_0, "1_0"}, Level{DML_FEATURE_LEVEL_2_0, "2_0"},
    Level{DML_FEATURE_LEVEL_2_1, "2_1"}, Level{DML_FEATURE_LEVEL_3_0, "3_0"},
    Level{DML_FEATURE_LEVEL_3_1, "3_1"}, Level{DML_FEATURE_LEVEL_4_0, "4_0"},
    Level{DML_FEATURE_LEVEL_4_1, "4_1"}, Level{DML_FEATURE_LEVEL_5_0, "5_0"},
    Level{DML_FEATURE_LEVEL_5_1, "5_1"}, Level{DML_FEATURE_LEVEL_5_2, "5_2"},
    Level{DML_FEATURE_LEVEL_6_0, "6_0"}, Level{DML_FEATURE_LEVEL_6_1, "6_1"},
    Level{DML_FEATURE_LEVEL_6_2, "6_2"}, Level{DML_FEATURE_LEVEL_6_3, "6_3"},
    Level{DML_FEATURE_LEVEL_6_4, "6_4"},
};

const Level* find_level(DML_FEATURE_LEVEL level) noexcept {
  const auto found = std::find_if(kLevels.begin(), kLevels.end(), [&](const Level& known) {
    return number(known.level) == number(level);
  });
  return found == kLevels.end() ? nullptr : &*found;
}

}  // namespace

const DataType* find_data_type(uint32_t type) noexcept {
  const auto found = std::find_if(kDataTypes.begin(), kDataTypes.end(),
                                  [&](const DataType& t) { return number(t.type) == type; });
  return found == kDataTypes.end() ? nullptr : &*found;
}

std::string data_type_name(uint32_t type) {
  const DataType* known = find_data_type(type);
  return known != nullptr ? std::string(known->name) : concat(type);
}

std::string level_name(DML_FEATURE_LEVEL level) {
  const Level* known = find_level(level);
  return known != nullptr ? std::string(known->name) : concat(number(level));
}

bool is_level(DML_FEATURE_LEVEL level) noexcept { return find_level(level) != nullptr; }

std::string type_names(TypeSet types) {
  std::string out;
  for (const DataType& t : kDataTypes) {
    if (types.contains(number(t.type))) out += concat(out.empty() ? "" : ", ", t.name);
  }
  return out;
}

}  // namespace dequant::directml
