// dequantizeLinear of WebNN: blocks on any number of axes.
#pragma once

#include <cstdint>

#include "conformance/vectors/collect.h"

namespace dequant::conformance::vectors {

/// Every type of input and scale in every granularity; shapes of ranks 0 to 5; each rule, broken.
void add_webnn(Collector& out);

/// Any operation that the specification allows.
void add_webnn_random(Collector& out, int64_t count);

}  // namespace dequant::conformance::vectors
