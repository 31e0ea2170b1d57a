// Escaping text from files, so that it is safe to print.
#include "format/io/errors.h"

namespace dequant::format {
namespace {

/// The length of the UTF-8 sequence that starts at i, or 0 where no valid one does.
size_t utf8_length(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(i);
  const size_t n = first < 0x80                    ? 1
                   : first >= 0xC2 && first < 0xE0 ? 2
                   : (first & 0xF0) == 0xE0        ? 3
                   : first >= 0xF0 && first < 0xF5 ? 4
                                                   : 0;
  if (n == 0 || i + n > text.size()) return 0;
  for (size_t k = 1; k < n; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and the C1 control characters (U+0080 to U+009F).
  if (first == 0xE0 && byte(i + 1) < 0xA0) return 0;
  if (first == 0xED && byte(i + 1) > 0x9F) return 0;
  if (first == 0xF0 && byte(i + 1) < 0x90) return 0;
  if (first == 0xF4 && byte(i + 1) > 0x8F) return 0;
  if (first == 0xC2 && byte(i + 1) < 0xA0) return 0;
  // Line separators and marks of the text direction: U+2028 to U+202E, U+2066 to U+2069.
  if (first == 0xE2 && byte(i + 1) == 0x80 && byte(i + 2) >= 0xA8 && byte(i + 2) <= 0xAE) return 0;
  if (first == 0xE2 && byte(i + 1) == 0x81 && byte(i + 2) >= 0xA6 && byte(i + 2) <= 0xA9) return 0;
  return n;
}

}  // namespace

std::string escaped(std::string_view text, size_t longest) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (out.size() > longest) return out + "...";
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t n = utf8_length(text, i);
    if (n == 0 || c < 0x20 || c == 0x7F) {
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
