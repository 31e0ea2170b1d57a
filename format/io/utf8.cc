// UTF-8: reading and writing characters.
#include "format/io/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace dequant::format {

size_t utf8_length(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(i);
  const size_t n = first < 0x80                    ? 1
                   : first >= 0xC2 && first < 0xE0 ? 2
                   : (first & 0xF0) == 0xE0        ? 3
                   : first >= 0xF0 && first < 0xF5 ? 4
                                                   : 0;
  if (n == 0 || n > text.size() - i) return 0;
  for (size_t k = 1; k < n; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and numbers above U+10FFFF.
  if (first == 0xE0 && byte(i + 1) < 0xA0) return 0;
  if (first == 0xED && byte(i + 1) > 0x9F) return 0;
  if (first == 0xF0 && byte(i + 1) < 0x90) return 0;
  if (first == 0xF4 && byte(i + 1) > 0x8F) return 0;
  return n;
}

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

void append_utf8(std::string& text, uint32_t character) {
  const auto continuation = [&](int shift) {
    return static_cast<char>(0x80 | ((character >> shift) & 0x3F));
  };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xC0 | character >> 6);
    text += continuation(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xE0 | character >> 12);
    text += continuation(6);
    text += continuation(0);
  } else {
    text += static_cast<char>(0xF0 | character >> 18);
    text += continuation(12);
    text += continuation(6);
    text += continuation(0);
  }
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text, i);
    if (length == 0) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[i]));
    } else {
      out += text.substr(i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  return out;
}

}  // namespace dequant::format
