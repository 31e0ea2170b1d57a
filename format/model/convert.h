// Converting a quantized model file to a float model file.
#pragma once

#include <string>

#include "format/model/format.h"
#include "format/model/report.h"
#include "format/model/write_options.h"

namespace dequant::format {

struct ConvertOptions {
  OpenOptions open;
  WriteOptions write;
  /// First remove temporary files that killed processes have left in the output's folder.
  bool clean_temp = false;
};

/// Reads the model file `input` and writes the float model to `output`, whole or not at all. A
/// folder may be named with a slash at the end, or as ".". Returns what was done. Fails as
/// open_model() and ModelFile::write() do. With WriteOptions::memory `output` must be empty, and
/// formats that only write files fail with unsupported.
Result<ConvertReport> convert(Formats formats, const std::string& input, const std::string& output,
                              const ConvertOptions& options);

}  // namespace dequant::format
