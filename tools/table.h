// Text in columns that line up.
#pragma once

#include <string>
#include <vector>

namespace dequant::tools {

enum class Align { left, right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as columns; the last may be longer than its column ever gets.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  /// The title line and the rows, each ended by a newline; no spaces at the ends of lines.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "1.5 MiB".
std::string human_bytes(int64_t bytes);

/// "[2, 3]".
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace dequant::tools
