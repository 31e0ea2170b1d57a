// Errors of readers and writers of files: formatted sentences, system errors by name, and names
// from files made safe to print.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "dequant/status.h"

namespace dequant::format {

template <class... Args>
Error failure(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return Error{code, fmt::format(text, std::forward<Args>(args)...)};
}

/// The sentence followed by what errno says.
template <class... Args>
Error io_error(fmt::format_string<Args...> text, Args&&... args) {
  const int reason = errno;
  std::string message = fmt::format(text, std::forward<Args>(args)...);
  return Error{reason == ENOMEM ? ErrorCode::out_of_memory : ErrorCode::io,
               fmt::format("{}: {}", message, std::strerror(reason)), reason};
}

/// The same error with "where: " before its sentence.
inline Error in(std::string_view where, Error error) {
  error.message = fmt::format("{}: {}", where, error.message);
  return error;
}

/// Text from a file or a path as it may be printed, on one line: control characters, backslashes
/// and what is not UTF-8 become escapes, and text is cut behind so many bytes.
std::string escaped(std::string_view text, size_t longest = 200);

}  // namespace dequant::format
