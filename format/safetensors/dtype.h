// The types of tensors in safetensors files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "dequant/element.h"
#include "dequant/status.h"
#include "dequant/tensor.h"

namespace dequant::format::safetensors {

/// A type of the specification.
struct DType {
  std::string_view name;           ///< as files spell it: "F8_E4M3"
  int bits = 0;                    ///< of one value: 4, 6, 8, 16, 32 or 64
  std::optional<Element> element;  ///< nothing: dequant computes with no such values
};

/// All types, in the order of the specification: wider ones later. Pointers to types are pointers
/// into this span, which is valid until the process ends.
std::span<const DType> dtypes();

/// The type of that name, or null. Case matters.
const DType* find_dtype(std::string_view name);

/// The type of an element, or null for elements under 8 bits that only other formats have: uint4,
/// int4, uint2, int2.
const DType* dtype_of(Element element);

/// The bytes of a tensor. Fails with invalid_argument if a dimension is negative, if elements or
/// bytes overflow int64_t, and if the values of fewer than 8 bits end within a byte: files do not
/// pad them. An element count overflows even where another dimension is 0.
Result<int64_t> bytes_of(const DType& dtype, Shape shape);

}  // namespace dequant::format::safetensors
