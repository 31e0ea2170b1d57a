// Text in columns that line up.
#include "tools/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace dequant::tools {
namespace {

/// Characters of UTF-8 text.
size_t width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

std::string Table::text() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t w = width(columns_[c].title);
    for (const auto& row : rows_) w = std::max(w, width(row[c]));
    widths.push_back(w);
  }
  std::string out;
  const auto line = [&](auto cell) {
    std::string text;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const std::string& s = cell(c);
      const std::string fill(widths[c] - width(s), ' ');
      text += (c == 0 ? "" : "  ") + (columns_[c].align == Align::right ? fill + s : s + fill);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  line([&](size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : rows_) {
    line([&](size_t c) -> const std::string& { return row[c]; });
  }
  return out;
}

std::string human_bytes(int64_t bytes) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace dequant::tools
