// Writing a dense checkpoint.
#pragma once

#include <string>

#include "format/checkpoint/groups.h"
#include "format/checkpoint/options.h"
#include "format/model/model_file.h"

namespace dequant::format::checkpoint {

/// Writes the dense checkpoint of `groups`: to a file where the input is a file, else to a folder,
/// whose configuration and index are written last. Each file appears whole or not at all. Fails
/// with io, malformed, unsupported or limit, and with the error of options.progress.
Result<ConvertReport> write(ModelFile& file, const Groups& groups, const Options& own,
                            const std::string& output, const WriteOptions& options);

}  // namespace dequant::format::checkpoint
