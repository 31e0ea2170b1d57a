// Weights that were rotated before they were quantized.
#pragma once

#include "format/checkpoint/groups.h"

namespace dequant::format::checkpoint {

/// Warns where the configuration, or names of tensors, say that weights are rotated: the dense
/// weights are what the stored ones stand for, but a model computes with them what it should only
/// if it transforms activations, too.
void warn_of_rotations(Groups& groups);

}  // namespace dequant::format::checkpoint
