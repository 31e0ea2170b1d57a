// Escaping text from files, so that it is safe to print.
#include "format/io/errors.h"

#include "format/io/utf8.h"

namespace dequant::format {
namespace {

/// The length of the UTF-8 sequence that starts at i, or 0 where no valid one does or where
/// printing it would do more than show a character.
size_t printable_length(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const size_t n = utf8_length(text, i);
  if (n == 0 || byte(i) < 0x20 || byte(i) == 0x7F) return 0;
  // The C1 control characters, U+0080 to U+009F.
  if (byte(i) == 0xC2 && byte(i + 1) < 0xA0) return 0;
  if (byte(i) != 0xE2) return n;
  // Line separators and marks of the text direction: U+2028 to U+202E, U+2066 to U+2069.
  if (byte(i + 1) == 0x80 && byte(i + 2) >= 0xA8 && byte(i + 2) <= 0xAE) return 0;
  if (byte(i + 1) == 0x81 && byte(i + 2) >= 0xA6 && byte(i + 2) <= 0xA9) return 0;
  return n;
}

}  // namespace

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
