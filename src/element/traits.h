// One row of the element list, for the library's own use.
#pragma once

#include <string_view>

#include "dequant/element.h"
#include "element/float_code.h"

namespace dequant {

struct ElementTraits {
  std::string_view name;
  Kind kind;
  int onnx_code;
  FloatFormat format;  ///< of integers: only its bits
};

const ElementTraits& traits(Element element) noexcept;

}  // namespace dequant
