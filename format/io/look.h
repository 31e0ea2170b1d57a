// Recognising files of formats that dequant does not read, for error messages.
#pragma once

#include <optional>

#include "dequant/status.h"
#include "format/io/file.h"

namespace dequant::format {

/// A format, in words for a sentence.
struct Look {
  const char* what = "";    ///< "an HDF5 file"
  const char* advice = "";  ///< what to do, with the punctuation before it; mostly empty
};

/// The format of a file by its first bytes or the end of its name, if dequant does not read that
/// format. Returns nothing for all other files, and for files that cannot be read. It is for files
/// that are no model: bytes of models may look like another format by chance.
std::optional<Look> look_of(const InputFile& file);

/// The error that names this format and what dequant reads; nothing where look_of() has nothing.
std::optional<Error> error_of_look(const InputFile& file);

}  // namespace dequant::format
