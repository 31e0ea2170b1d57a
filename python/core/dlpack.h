// Element types by the types of DLPack.
#pragma once

#include <nanobind/ndarray.h>

#include <optional>
#include <utility>

#include "dequant/element.h"

namespace dequant::python {

/// The element type of a type of DLPack; nothing if it is none.
inline std::optional<Element> element_of_dlpack(nanobind::dlpack::dtype type) {
  // Type codes of DLPack 1.1: 0 is int, 1 uint, 2 float. The other types are unknown to numpy.
  constexpr std::pair<uint8_t, Element> kElements[] = {
      {4, Element::bfloat16},        {10, Element::float8e4m3fn},
      {11, Element::float8e4m3fnuz}, {12, Element::float8e5m2},
      {13, Element::float8e5m2fnuz}, {14, Element::float8e8m0},
      {2, Element::float32},         {2, Element::float16},
      {1, Element::uint8},           {1, Element::uint16},
      {1, Element::uint32},          {0, Element::int8},
      {0, Element::int16},           {0, Element::int32}};
  for (const auto& [code, element] : kElements) {
    if (type.lanes == 1 && type.code == code && type.bits == bits(element)) return element;
  }
  return {};
}

}  // namespace dequant::python
