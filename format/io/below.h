// Opening files that another file names, and no files outside of its folder.
#pragma once

#include <string>

#include "dequant/status.h"
#include "format/io/file.h"

namespace dequant::format {

/// Fails with io unless the location is a relative path without "..". `what` is
/// what messages call the file: "external data".
Status check_location(const char* what, const std::string& location);

/// Opens the file at `location`, relative to the folder of the file `anchor`. Fails with io where
/// the file is not below that folder, symbolic links resolved. One exception is allowed: the anchor
/// and the file are both links to files in one other folder, as in the Hugging Face cache.
Result<InputFile> open_below(const char* what, const std::string& anchor,
                             const std::string& location);

/// The same for a location that a listing of the folder has: such names may have any characters.
Result<InputFile> open_listed(const char* what, const std::string& anchor,
                              const std::string& location);

}  // namespace dequant::format
