// The formats of model files that dequant reads. A new one is a folder beside format/onnx/ and its
// line in formats.cc.
#pragma once

#include "format/model/format.h"

namespace dequant::format {

/// In the order in which they are asked whether they recognise a file.
Formats formats();

}  // namespace dequant::format
