// The names of files in the folder of a checkpoint.
#pragma once

#include <array>
#include <string_view>

namespace dequant::format::checkpoint {

inline constexpr std::string_view kSafetensors = ".safetensors";
inline constexpr std::string_view kModel = "model.safetensors";
inline constexpr std::string_view kIndex = ".safetensors.index.json";
/// The index that transformers reads.
inline constexpr std::string_view kModelIndex = "model.safetensors.index.json";
inline constexpr std::string_view kConfig = "config.json";
/// The configuration of Mistral's own code.
inline constexpr std::string_view kParams = "params.json";

/// Files that say how tensors are quantized, for loaders that look for these names.
inline constexpr std::array<std::string_view, 4> kQuantizationFiles{
    "hf_quant_config.json",
    "quantize_config.json",
    "quant_config.json",
    "quanto_qmap.json",
};

}  // namespace dequant::format::checkpoint
