// The list of the formats of model files that dequant reads.
#include "format/formats.h"

#include <array>

#include "format/checkpoint/format.h"
#include "format/gguf/format.h"
#include "format/onnx/format.h"
#include "format/tflite/format.h"

namespace dequant::format {

Formats formats() {
  static constexpr std::array<const Format*, 4> kFormats{
      &gguf::kFormat, &tflite::kFormat, &checkpoint::kFormat,
      &onnx::kFormat,  // last: it recognises every file, as ONNX files have no magic number
  };
  return kFormats;
}

}  // namespace dequant::format
