// ONNX models as a format of model files.
#pragma once

#include "format/model/format.h"

namespace dequant::format::onnx {

/// Takes every file: ONNX models begin with no mark.
extern const Format kFormat;

}  // namespace dequant::format::onnx
