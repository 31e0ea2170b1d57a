// From a quantized model to a float one: every DequantizeLinear of constants becomes a float
// initializer.
#pragma once

#include <string>

#include "format/model/report.h"
#include "format/model/write_options.h"
#include "format/onnx/options.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// Writes the float model, whole or not at all, as ModelFile::write(). The model and its names are
/// changed by that.
Result<ConvertReport> convert(Model& model, ExternalFiles& files, Scopes& scopes,
                              const Options& own, const std::string& output,
                              const WriteOptions& options);

}  // namespace dequant::format::onnx
