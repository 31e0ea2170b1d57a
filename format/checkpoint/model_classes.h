// What classes of transformers change where they quantize a model, by model_type of config.json.
#pragma once

#include "format/checkpoint/groups.h"

namespace dequant::format::checkpoint {

/// True for a weight of class Conv1D, as in GPT-2, which the dense model has as [in, out].
/// Producers of `scheme` transpose it: they quantize [out, in], as of a linear layer.
bool is_transposed(const Config& config, std::string_view scheme, std::string_view weight);

}  // namespace dequant::format::checkpoint
