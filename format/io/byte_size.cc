// Numbers of bytes as texts of options, such as 512Mi.
#include "format/io/byte_size.h"

#include <charconv>

namespace dequant::format {
namespace {

constexpr std::string_view kUnits = "kmgtpe";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Takes a letter, small or capital, off the front of a text that begins with it.
bool take(std::string_view& text, char letter) {
  if (text.empty() || lower(text.front()) != letter) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<int64_t> byte_size(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return {};  // of a sign
  int64_t number = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc()) return {};
  text.remove_prefix(static_cast<size_t>(stop - text.data()));
  size_t power = 0;
  if (!text.empty()) power = kUnits.find(lower(text.front())) + 1;  // 0 where it is no unit
  if (power != 0) text.remove_prefix(1);
  const int64_t base = power != 0 && take(text, 'i') ? 1024 : 1000;
  take(text, 'b');
  if (!text.empty()) return {};
  for (; power > 0; --power) {
    if (number > INT64_MAX / base) return {};
    number *= base;
  }
  return number;
}

}  // namespace dequant::format
