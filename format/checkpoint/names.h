// The names of files in the folder of a checkpoint.
#pragma once

#include <string_view>

namespace dequant::format::checkpoint {

inline constexpr std::string_view kSafetensors = ".safetensors";
inline constexpr std::string_view kModel = "model.safetensors";
inline constexpr std::string_view kIndex = ".safetensors.index.json";
inline constexpr std::string_view kConfig = "config.json";

}  // namespace dequant::format::checkpoint
