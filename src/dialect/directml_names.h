// Names of DirectML's enumerators as in DirectML's documents, and the elements of its data types.
// Values come from callers, so they are read as numbers: an enumeration may have any.
#pragma once

// The library is built with its own declarations of DirectML, whatever headers the system has. All
// files of the dialect include them through this file.
#ifndef DEQUANT_DIRECTML_OWN
#define DEQUANT_DIRECTML_OWN
#endif
#include "dequant/directml.h"

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "dequant/element.h"

namespace dequant::directml {

/// The number of an enumeration of DirectML.
template <class Enum>
uint32_t number(const Enum& value) noexcept {
  static_assert(sizeof(Enum) == sizeof(uint32_t));
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

struct DataType {
  DML_TENSOR_DATA_TYPE type;
  std::string_view name;  ///< without its prefix
  int bits;
  std::optional<Element> element;  ///< none for types that no operator here has
};

/// The entry of a data type; null for UNKNOWN and for other numbers.
const DataType* find_data_type(uint32_t type) noexcept;

/// "UINT8", or the number of a value that is no data type.
std::string data_type_name(uint32_t type);

/// "6_2", or the number of a value that is no feature level.
std::string level_name(DML_FEATURE_LEVEL level);

bool is_level(DML_FEATURE_LEVEL level) noexcept;

/// A set of data types, as bits.
class TypeSet {
 public:
  constexpr TypeSet(std::initializer_list<DML_TENSOR_DATA_TYPE> list) {
    for (const DML_TENSOR_DATA_TYPE t : list) bits_ |= uint32_t{1} << t;
  }
  constexpr TypeSet operator|(TypeSet other) const {
    other.bits_ |= bits_;
    return other;
  }
  constexpr bool contains(uint32_t type) const { return type < 32 && (bits_ >> type & 1) != 0; }

 private:
  uint32_t bits_ = 0;
};

/// "INT8, UINT8".
std::string type_names(TypeSet types);

}  // namespace dequant::directml
