// Converting a quantized ONNX model: every DequantizeLinear of constants becomes a float
// initializer.
#pragma once

#include <string>

#include "format/model/report.h"
#include "format/model/write_options.h"
#include "format/onnx/options.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// Writes the float model to `output`; see ModelFile::write(). Changes `model` and `scopes`, which
/// must not be used after that.
Result<ConvertReport> convert(Model& model, ExternalFiles& files, Scopes& scopes,
                              const Options& own, const std::string& output,
                              const WriteOptions& options);

}  // namespace dequant::format::onnx
