// ONNX models as a format of model files.
#pragma once

#include "format/model/format.h"

namespace dequant::format::onnx {

/// Recognises every file, as ONNX models have no magic number.
extern const Format kFormat;

}  // namespace dequant::format::onnx
