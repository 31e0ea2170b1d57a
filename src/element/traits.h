// The rows of the element list, for use inside the library.
#pragma once

#include <array>
#include <string_view>

#include "dequant/element.h"
#include "element/float_code.h"

namespace dequant {

struct ElementTraits {
  std::string_view name;
  Kind kind;
  int onnx_code;
  FloatFormat format;  ///< integers: only `bits` has a meaning
};

inline constexpr std::array kTraits{
#define DEQUANT_ELEMENT(name, bits, kind, exponent, mantissa, bias, specials, onnx) \
  ElementTraits{#name, Kind::kind, onnx,                                            \
                FloatFormat{bits, exponent, mantissa, bias, Specials::specials}},
#include "dequant/elements.def"
#undef DEQUANT_ELEMENT
};

/// The traits of a number that is no enumerator of Element.
inline constexpr ElementTraits kUnknown{"unknown", Kind::unsigned_integer, 0, {}};

constexpr const ElementTraits& traits(Element element) noexcept {
  const auto i = static_cast<size_t>(element);
  return i < kTraits.size() ? kTraits[i] : kUnknown;
}

}  // namespace dequant
