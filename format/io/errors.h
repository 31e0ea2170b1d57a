// Making errors: formatted sentences, errors of the system, and escaped text from files.
#pragma once

#include <fmt/core.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "dequant/status.h"

namespace dequant::format {

/// An error with a formatted sentence.
template <class... Args>
Error failure(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return Error{code, fmt::format(text, std::forward<Args>(args)...)};
}

/// An error with that sentence and the text of an errno: out_of_memory for ENOMEM, else io.
Error error_of_system(std::string_view sentence, int reason);

/// The same with a formatted sentence and the errno of this thread.
template <class... Args>
Error io_error(fmt::format_string<Args...> text, Args&&... args) {
  const int reason = errno;
  return error_of_system(fmt::format(text, std::forward<Args>(args)...), reason);
}

/// The same error with "where: " before its sentence.
Error in(std::string_view where, Error error);

/// Text from a file or a path that is safe to print on one line: control characters, backslashes
/// and bytes that are not UTF-8 become escapes. At most `longest` bytes of the text are used.
std::string escaped(std::string_view text, size_t longest = 200);

}  // namespace dequant::format
