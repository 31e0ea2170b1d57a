// DirectML's two operators: tensors may lie in memory in any way that strides can say.
#pragma once

#include <cstdint>
#include <string>

#include "conformance/vectors/collect.h"

namespace dequant::conformance::vectors {

/// Every type of both operators, as far as the feature level has them, in every granularity and
/// layout; ranks 1 to 8 where it allows them; each rule of the level, broken.
void add_directml(Collector& out, const std::string& level);

/// Any node that the level allows.
void add_directml_random(Collector& out, const std::string& level, int64_t count);

}  // namespace dequant::conformance::vectors
