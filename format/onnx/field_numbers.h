// The numbers of protobuf fields by ONNX's own names: field::graph::initializer is the number of
// GraphProto.initializer.
#pragma once

#include <cstdint>

namespace dequant::format::onnx::field {

#define DEQUANT_ONNX_FIELD(message, field, number, content) \
  namespace message {                                       \
  inline constexpr uint32_t field = number;                 \
  }
#include "format/onnx/fields.def"
#undef DEQUANT_ONNX_FIELD

}  // namespace dequant::format::onnx::field
