// What a file that could not be read looks like, by its first bytes.
#pragma once

#include <optional>

#include "format/io/file.h"

namespace dequant::format {

/// A format in words, to be put into a sentence.
struct Look {
  const char* what = "";    ///< "a GGUF file"
  const char* advice = "";  ///< what to do about it, with the mark before it; mostly empty
};

/// The format that the first bytes of a file show, if dequant does not read that format. Nothing
/// for other files, and for files that cannot be read.
std::optional<Look> look_of(const InputFile& file);

}  // namespace dequant::format
