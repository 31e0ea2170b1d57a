// The options that only ONNX models have.
#pragma once

#include <array>
#include <string_view>

#include "dequant/status.h"
#include "format/model/options.h"
#include "format/onnx/external.h"
#include "format/onnx/pair_replacement.h"

namespace dequant::format::onnx {

/// The options of ONNX models.
struct Options {
  bool assume_const = false;  ///< initializers that are also graph inputs count as constant
  bool strip_qdq = false;     ///< also remove QuantizeLinear and DequantizeLinear from activations
  Clips clips = Clips::needed;  ///< where Clip nodes replace pairs that strip_qdq removes
  bool external_data = false;   ///< float data in a file beside the model, at any size
  Checksums checksums = Checksums::verify;  ///< skip: a warning for each
};

/// The names of these options in FormatOptions.
inline constexpr std::array<std::string_view, 5> kOptions{"assume-const", "strip-qdq", "clip",
                                                          "external-data", "no-checksum"};

/// Reads the options. Fails with invalid_argument for a wrong value.
Result<Options> read_options(const FormatOptions& given);

}  // namespace dequant::format::onnx
