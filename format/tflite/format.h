// TFLite models as a format of model files.
#pragma once

#include "format/model/format.h"

namespace dequant::format::tflite {

extern const Format kFormat;

}  // namespace dequant::format::tflite
