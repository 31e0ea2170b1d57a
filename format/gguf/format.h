// GGUF files as a format of model files.
#pragma once

#include "format/model/format.h"

namespace dequant::format::gguf {

extern const Format kFormat;

}  // namespace dequant::format::gguf
