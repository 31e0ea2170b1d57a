// Rows of tensors as data of the page's script, which has a tenth of the bytes of their HTML.
#include <fmt/format.h>

#include <algorithm>

#include "tools/inspect_page.h"

namespace dequant::tools {
namespace {

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// How many characters two names begin with alike. Only ASCII counts, whose characters are bytes
/// here and units of UTF-16 in the script.
size_t alike(std::string_view a, std::string_view b) {
  constexpr size_t kMost = 36 * 36 - 1;
  const size_t end = std::min({a.size(), b.size(), kMost});
  size_t n = 0;
  while (n < end && a[n] == b[n] && static_cast<unsigned char>(a[n]) < 0x80) ++n;
  return n;
}

std::string base_36(size_t number) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  return {kDigits[number / 36], kDigits[number % 36]};
}

}  // namespace

void PackedRows::add(PackedRow row) {
  kinds_ = std::move(row.kinds);
  rows_.push_back(std::move(row.lines));
}

std::string PackedRows::block(size_t first) const {
  if (first >= rows_.size()) return "";
  constexpr size_t kNames = 2;
  std::string out = fmt::format("<script type='text/plain' id='rest' data-kinds='{}'>", kinds_);
  std::vector<std::string_view> before(split(rows_[first]).size());
  for (size_t i = first; i < rows_.size(); ++i) {
    const std::vector<std::string_view> lines = split(rows_[i]);
    for (size_t k = 0; k < lines.size(); ++k) {
      out += '\n';
      if (k < kNames) {
        const size_t n = alike(before[k], lines[k]);
        out += base_36(n);
        out += lines[k].substr(n);
      } else if (i == first || lines[k] != before[k]) {
        out += lines[k].empty() ? " " : lines[k];
      }
    }
    before = lines;
  }
  return out + "</script>\n";
}

}  // namespace dequant::tools
