// The schemes, each in a file of its name.
#pragma once

#include "format/checkpoint/scheme.h"

namespace dequant::format::checkpoint {

extern const Scheme kFp8;

}  // namespace dequant::format::checkpoint
