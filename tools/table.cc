// Tables of text with aligned columns.
#include "tools/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace dequant::tools {
namespace {

/// The number of characters of UTF-8 text.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// Bytes of a string of rows, from which on a new string is begun.
constexpr size_t kTablePart = size_t{1} << 16;

std::string_view take_cell(std::string_view& cells) {
  const size_t end = cells.find('\n');
  const std::string_view cell = cells.substr(0, end);
  cells.remove_prefix(end + 1);
  return cell;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& c : columns_) widths_.push_back(width(c.title));
}

void Table::add(const std::vector<std::string>& cells) {
  if (rows_.empty() || rows_.back().size() > kTablePart) rows_.emplace_back();
  for (size_t c = 0; c < columns_.size(); ++c) {
    widths_[c] = std::max(widths_[c], width(cells[c]));
    rows_.back() += cells[c];
    rows_.back() += '\n';
  }
}

std::string Table::line(std::string_view cells) const {
  std::string text;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const std::string_view cell = take_cell(cells);
    const std::string fill(widths_[c] - width(cell), ' ');
    if (c != 0) text += "  ";
    if (columns_[c].align == Align::right) text += fill;
    text += cell;
    if (columns_[c].align == Align::left) text += fill;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

void Table::for_each_line(const std::function<void(std::string_view)>& visit) const {
  std::string titles;
  for (const Column& c : columns_) titles += c.title + '\n';
  visit(line(titles));
  for (std::string_view part : rows_) {
    while (!part.empty()) {
      const std::string_view row = part;
      for (size_t c = 0; c < columns_.size(); ++c) take_cell(part);
      visit(line(row));
    }
  }
}

std::string Table::text() const {
  std::string out;
  for_each_line([&](std::string_view line) { out += line; });
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

std::string shape_text(Shape shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace dequant::tools
