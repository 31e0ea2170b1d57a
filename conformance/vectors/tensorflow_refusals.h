// What TensorFlow's Dequantize must refuse.
#pragma once

#include "conformance/vectors/collect.h"

namespace dequant::conformance::vectors {

/// Each rule of r1.4, or of today's interface, broken.
void add_tensorflow_refusals(Collector& out, bool today);

}  // namespace dequant::conformance::vectors
