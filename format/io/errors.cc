// Escaping text from files, so that it is safe to print.
#include "format/io/errors.h"

#include "format/io/utf8.h"

namespace dequant::format {

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
