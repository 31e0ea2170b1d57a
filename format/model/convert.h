// From a quantized model file to a float one.
#pragma once

#include <string>

#include "format/model/format.h"
#include "format/model/report.h"
#include "format/model/write_options.h"

namespace dequant::format {

struct ConvertOptions {
  OpenOptions open;
  WriteOptions write;
  bool clean_temp = false;  ///< first remove what dead runs have left in the output's folder
};

/// Reads one model file and writes the other, whole or not at all. Fails as open_model() and
/// ModelFile::write() do.
Result<ConvertReport> convert(Formats formats, const std::string& input, const std::string& output,
                              const ConvertOptions& options);

}  // namespace dequant::format
