// Float8 tensors that are values and no codes: a model that was converted to a float8 type as to
// float16, without scales, as files for ComfyUI often are.
#pragma once

#include "format/checkpoint/groups.h"

namespace dequant::format::checkpoint {

/// Adds a group for each float8 tensor where nothing in the checkpoint can be a scale: no tensor is
/// quantized otherwise, no configuration or metadata speak of quantization, no tensor has the name
/// of a scale, each module that has a float8 "X.weight" has at most "X.bias" beside it, and no name
/// begins with the whole name of such a tensor and a dot. Beside tensors that are quantized, only
/// where these are FP8 and ComfyUI's markers say so, for those that it does not name: ComfyUI casts
/// them. Adds nothing otherwise. A warning has the number of these tensors. Fails as Groups::add()
/// does.
Status add_float8_values(Groups& groups);

}  // namespace dequant::format::checkpoint
