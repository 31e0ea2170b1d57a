// Text in columns that line up.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/tensor.h"

namespace dequant::tools {

enum class Align { left, right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns);

  /// As many cells as columns, without newlines; the last may be longer than its column ever gets.
  void add(const std::vector<std::string>& cells);
  bool empty() const { return rows_.empty(); }

  /// Hands on the title line and the rows, each ended by a newline; no spaces at the ends of lines.
  void for_each_line(const std::function<void(std::string_view)>& visit) const;

  /// All lines.
  std::string text() const;

 private:
  std::string line(std::string_view cells) const;

  std::vector<Column> columns_;
  std::vector<size_t> widths_;
  /// Cells one after another, each ended by a newline; in parts, since one text would be copied as
  /// it grows.
  std::vector<std::string> rows_;
};

/// "1.5 MiB".
std::string human_bytes(int64_t bytes);

/// "[2, 3]".
std::string shape_text(Shape shape);

}  // namespace dequant::tools
