// Printing a JSON document entry by entry.
#include "tools/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "format/io/utf8.h"

namespace dequant::tools {

using nlohmann::ordered_json;

namespace {

/// The text with escapes of JSON in the place of characters behind U+007E that are not printable.
/// These have three bytes at most, and stand in strings.
std::string printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t n = format::utf8_length(text, i);
    const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[i + k]); };
    if (byte(0) < 0x7F || format::printable_length(text, i) > 0) {
      out += text.substr(i, n);
    } else {
      const int character = n == 1 ? byte(0)
                            : n == 2
                                ? (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F)
                                : (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
      out += fmt::format("\\u{:04x}", character);
    }
    i += n;
  }
  return out;
}

std::string text_of(const ordered_json& value, int indent) {
  return printable(value.dump(indent, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace

std::string json_text(const ordered_json& value, size_t indent) {
  std::string out;
  for (const char c : text_of(value, 2)) {
    out += c;
    if (c == '\n') out.append(indent, ' ');  // newlines within strings are escaped
  }
  return out;
}

std::string json_line(const ordered_json& value) { return text_of(value, -1); }

ordered_json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

const char* before_entry(bool& first) { return std::exchange(first, false) ? "\n" : ",\n"; }

}  // namespace dequant::tools
