// Checkpoints in safetensors files as a format of model files.
#pragma once

#include "format/model/format.h"

namespace dequant::format::checkpoint {

extern const Format kFormat;

}  // namespace dequant::format::checkpoint
