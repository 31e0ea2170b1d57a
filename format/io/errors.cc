// Errors of the system, and escaping text from files, so that it is safe to print.
#include "format/io/errors.h"

#include <cstring>

#include "format/io/utf8.h"

namespace dequant::format {

Error error_of_system(std::string_view sentence, int reason) {
  const char* const advice =
      reason == EMFILE ? "; a higher limit of open files (ulimit -n) allows more" : "";
  return Error{reason == ENOMEM ? ErrorCode::out_of_memory : ErrorCode::io,
               fmt::format("{}: {}{}", sentence, std::strerror(reason), advice), reason};
}

Error in(std::string_view where, Error error) {
  error.message = fmt::format("{}: {}", where, error.message);
  return error;
}

std::string escaped(std::string_view text, size_t longest) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (out.size() > longest) return out + "...";
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t n = printable_length(text, i);
    if (n == 0) {
      out += fmt::format("\\x{:02x}", c);
      ++i;
    } else {
      if (c == '\\') out += '\\';
      out += text.substr(i, n);
      i += n;
    }
  }
  return out;
}

}  // namespace dequant::format
