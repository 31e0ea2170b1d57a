// Vectors of TensorFlow's Dequantize: types and modes with pairs of ranges.
#pragma once

#include <cstdint>
#include <string>

#include "conformance/vectors/collect.h"

namespace dequant::conformance::vectors {

/// Adds every type, mode, dtype and semantics of "1.4" or "2", per tensor and per axis, with all
/// range_pairs(); shapes; and for each rule of the version nodes that violate it.
void add_tensorflow(Collector& out, const std::string& version);

/// Adds random nodes that the version allows.
void add_tensorflow_random(Collector& out, const std::string& version, int64_t count);

}  // namespace dequant::conformance::vectors
