// Conversions of model files that become files of dense tensors.
#pragma once

#include <string>

#include "format/model/model_file.h"

namespace dequant::fuzz {

/// Converts a file, if a dry run accepts it and its output is not large: a dry run decides like a
/// real run, the size of the output is that of the report, and every tensor of the output has the
/// floats that reading the input gives. Returns whether the dry run accepts it.
bool check_conversion(format::ModelFile& input, const std::string& output);

}  // namespace dequant::fuzz
