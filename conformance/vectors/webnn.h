// Vectors of WebNN's dequantizeLinear, which has blocks on any number of axes.
#pragma once

#include <cstdint>

#include "conformance/vectors/collect.h"

namespace dequant::conformance::vectors {

/// Adds every type of input and scale in every granularity, shapes of ranks 0 to 5, and for each
/// rule operations that violate it.
void add_webnn(Collector& out);

/// Adds random operations that the specification allows.
void add_webnn_random(Collector& out, int64_t count);

}  // namespace dequant::conformance::vectors
