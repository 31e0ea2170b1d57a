// Recognising files of formats that dequant does not read, for error messages.
#pragma once

#include <optional>

#include "format/io/file.h"

namespace dequant::format {

/// A format, in words for a sentence.
struct Look {
  const char* what = "";    ///< "an HDF5 file"
  const char* advice = "";  ///< what to do, with the punctuation before it; mostly empty
};

/// The format of a file by its first bytes, if dequant does not read that format. Returns nothing
/// for all other files, and for files that cannot be read.
std::optional<Look> look_of(const InputFile& file);

}  // namespace dequant::format
