// UTF-8: reading and writing characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dequant::format {

/// The length of the UTF-8 sequence that starts at text[i], or 0 where no valid one does: overlong
/// forms, surrogates and numbers above U+10FFFF are not valid. Demands i < text.size().
size_t utf8_length(std::string_view text, size_t i);

/// The same length, or 0 also where printing the character would do more than show it.
size_t printable_length(std::string_view text, size_t i);

/// Appends the UTF-8 sequence of a character. Demands a number up to U+10FFFF, no surrogate.
void append_utf8(std::string& text, uint32_t character);

bool is_utf8(std::string_view text);

/// The text with the bytes that are no UTF-8 as escapes: \xff.
std::string as_utf8(std::string_view text);

}  // namespace dequant::format
