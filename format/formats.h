// The list of the formats of model files that dequant reads. A new format is a folder beside
// format/onnx/ and a line in formats.cc.
#pragma once

#include "format/model/format.h"

namespace dequant::format {

/// All formats, in the order in which open_model() calls recognises().
Formats formats();

}  // namespace dequant::format
