// Dequantize of TensorFlow: types and modes by pairs of ranges.
#pragma once

#include <cstdint>
#include <string>

#include "conformance/vectors/collect.h"

namespace dequant::conformance::vectors {

/// Every type, mode, dtype and semantics of "1.4" or "2", per tensor and per axis, with every pair
/// of ranges at which the formulas go wrong; shapes; each rule of the version, broken.
void add_tensorflow(Collector& out, const std::string& version);

/// Any node that the version allows.
void add_tensorflow_random(Collector& out, const std::string& version, int64_t count);

}  // namespace dequant::conformance::vectors
