// Tables of text with aligned columns.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/tensor.h"

namespace dequant::tools {

enum class Align { left, right };

/// A table, which is kept in memory until it is printed.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns);

  /// Adds a row: as many cells as columns, without newlines. The last cell does not widen its
  /// column.
  void add(const std::vector<std::string>& cells);
  bool empty() const { return rows_.empty(); }

  /// Calls `visit` with the title line and each row. Lines end with a newline, and not with spaces.
  void for_each_line(const std::function<void(std::string_view)>& visit) const;

  /// All lines.
  std::string text() const;

 private:
  std::string line(std::string_view cells) const;

  std::vector<Column> columns_;
  std::vector<size_t> widths_;
  /// Cells, each with a newline behind it, in a list of strings: a single string would be copied
  /// when it grows.
  std::vector<std::string> rows_;
};

/// "1.5 MiB".
std::string human_bytes(int64_t bytes);

/// "[2, 3]".
std::string shape_text(Shape shape);

}  // namespace dequant::tools
