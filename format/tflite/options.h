// The options of TFLite models.
#pragma once

#include <array>
#include <string_view>

namespace dequant::format::tflite {

/// The names of the options, which are read as those of other files of dense tensors. The output is
/// one file, so that there are none about shards.
inline constexpr std::array<std::string_view, 2> kOptions{"audit", "others"};

/// How names of TFLite models end.
inline constexpr std::string_view kEnding = ".tflite";

}  // namespace dequant::format::tflite
