// The formats of model files that dequant reads.
#include "format/formats.h"

#include <array>

#include "format/onnx/format.h"

namespace dequant::format {

Formats formats() {
  static constexpr std::array<const Format*, 1> kFormats{
      &onnx::kFormat,  // last: its files begin with no mark, so it takes all that others do not
  };
  return kFormats;
}

}  // namespace dequant::format
