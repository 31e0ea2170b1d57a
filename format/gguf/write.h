// Writing the dense model of a GGUF model.
#pragma once

#include <string>

#include "format/gguf/layout.h"
#include "format/model/model_file.h"

namespace dequant::format::gguf {

/// Writes what target_of() says. A file appears whole or not at all, several files one after the
/// other. Fails with io, malformed, unsupported or limit, and with the error of options.progress.
Result<ConvertReport> write(ModelFile& file, const Parts& parts, const Uses& uses,
                            const Options& own, const std::string& output,
                            const WriteOptions& options);

}  // namespace dequant::format::gguf
