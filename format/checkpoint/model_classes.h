// What classes of transformers change where they quantize a model, by model_type of config.json:
// the tensors of the dense model differ in layout or in name.
#pragma once

#include "format/checkpoint/groups.h"

namespace dequant::format::checkpoint {

/// True for a weight that the dense model has as [in, out], and producers of `scheme` as [out, in],
/// as of a linear layer: that of class Conv1D, as in GPT-2, and a table of input tokens.
bool is_transposed(const Config& config, std::string_view scheme, std::string_view weight);

/// Warns where single experts of Llama 4 are dequantized: transformers has these in quantized
/// models only, and the dense model has one tensor of all.
void warn_of_experts(Groups& groups);

}  // namespace dequant::format::checkpoint
