// The types of tensors in TFLite models.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dequant/element.h"

namespace dequant::format::tflite {

/// What quantization parameters of a tensor mean.
enum class Meaning : uint8_t {
  none,       ///< TFLite gives such tensors none: they are ignored
  quantized,  ///< the tensor has codes
  undefined,  ///< the tensor would have codes, which no operator of TFLite dequantizes
};

/// A type of the schema.
struct Type {
  std::string_view name;           ///< as the schema spells it: "INT8"
  int bits = 0;                    ///< of one value; 0: values have no fixed size
  std::optional<Element> element;  ///< nothing: dequant computes with no such values
  std::string_view dtype;          ///< in safetensors files; empty: these have no such type
  Meaning meaning = Meaning::none;
};

/// The type of a number, or null where it is not known.
const Type* find_type(uint8_t number);

}  // namespace dequant::format::tflite
