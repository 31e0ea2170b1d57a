// Writing the dense tensors of a TFLite model.
#pragma once

#include <string>

#include "format/dense/options.h"
#include "format/model/model_file.h"
#include "format/tflite/constants.h"

namespace dequant::format::tflite {

/// Writes a safetensors file, whole or not at all. Fails with invalid_argument for an output of
/// another kind; with unsupported where a constant that is left is not excluded; with io, malformed
/// or limit, and with the error of options.progress.
Result<ConvertReport> write(ModelFile& file, const InputFile& input, const Constants& constants,
                            const dense::Options& own, const std::string& output,
                            const WriteOptions& options);

}  // namespace dequant::format::tflite
