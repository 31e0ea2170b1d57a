// Vectors of DirectML's two operators, whose tensors may have any strides.
#pragma once

#include <cstdint>
#include <string>

#include "conformance/vectors/collect.h"

namespace dequant::conformance::vectors {

/// Adds every type that the feature level has in every granularity and layout, ranks 1 to 8 where
/// the level allows them, and for each rule of the level nodes that violate it.
void add_directml(Collector& out, const std::string& level);

/// Adds random nodes that the level allows.
void add_directml_random(Collector& out, const std::string& level, int64_t count);

}  // namespace dequant::conformance::vectors
