// Tensors that quantize activations or caches.
#pragma once

#include "format/checkpoint/groups.h"

namespace dequant::format::checkpoint {

/// True for a tensor that quantizes activations or a cache, by its name: X.input_scale, or
/// W_input_scale of a tensor W that is stored. X.k_scale and its like may be parameters that were
/// trained: they count only with the shapes that scales of caches have, or where the configuration
/// says that caches are quantized.
bool quantizes_activations(const Groups& groups, const Entry& entry);

}  // namespace dequant::format::checkpoint
