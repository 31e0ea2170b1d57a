// The options that only ONNX models have.
#pragma once

#include <array>
#include <string_view>

#include "dequant/status.h"
#include "format/model/options.h"
#include "format/onnx/external.h"
#include "format/onnx/pair_replacement.h"

namespace dequant::format::onnx {

struct Options {
  bool assume_const = false;    ///< initializers that are graph inputs count as constant
  bool strip_qdq = false;       ///< take Q/DQ off activations too
  Clips clips = Clips::needed;  ///< where Clip nodes keep the ranges of what strip_qdq takes out
  bool external_data = false;   ///< float data in a file beside the model, whatever its size
  Checksums checksums = Checksums::verify;  ///< skip: with a warning for each
};

/// The names under which FormatOptions has them.
inline constexpr std::array<std::string_view, 5> kOptions{"assume-const", "strip-qdq", "clip",
                                                          "external-data", "no-checksum"};

/// Fails with invalid_argument for a wrong value.
Result<Options> read_options(const FormatOptions& given);

}  // namespace dequant::format::onnx
