// Nodes that TensorFlow's Dequantize must refuse.
#pragma once

#include "conformance/vectors/collect.h"

namespace dequant::conformance::vectors {

/// Adds for each rule of r1.4, or with `today` of the newest interface, nodes that violate it.
void add_tensorflow_refusals(Collector& out, bool today);

}  // namespace dequant::conformance::vectors
