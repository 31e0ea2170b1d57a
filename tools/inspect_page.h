// The page of `dequant inspect --html`: one HTML file without external resources.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/io/output.h"
#include "format/model/inspect.h"

namespace dequant::tools {

/// Rows of a table at most; the page says how many more there are.
inline constexpr size_t kMostRows = 20'000;
/// Rows of tensors that are visible before a click; without the script all are visible.
inline constexpr size_t kFirstRows = 500;
/// Tensors with details and pictures; further tensors only have a row, which the script makes.
inline constexpr size_t kMostDetails = 1'000;
/// Where there are more, fewer have details, so that all rows of tensors have so many bytes at
/// most; kLeastDetails have them whatever their bytes are.
inline constexpr size_t kMostRowBytes = 9'500'000;
inline constexpr size_t kLeastDetails = 100;

/// A growing text, as a list of strings: a single string would be copied when it grows.
class Rows {
 public:
  void add(std::string_view text);
  Status write(format::OutputFile& out) const;

 private:
  std::vector<std::string> parts_;
};

/// A row without details, as data of the script: lines of HTML text.
struct PackedRow {
  std::string kinds;  ///< a letter for each cell behind the name; the same for all rows
  std::string lines;  ///< of each cell, without a newline at the end
};

/// Rows as data of the script. A line that is the same as in the row before is left empty, and an
/// empty one is a space. Of the first two lines, which are names, those characters are left out
/// that the row before begins with as well; their number, in base 36, is in front of the line.
class PackedRows {
 public:
  void add(PackedRow row);
  size_t size() const { return rows_.size(); }
  /// The data block of the rows from `first` on; empty if there are none.
  std::string block(size_t first) const;

 private:
  std::string kinds_;
  std::vector<std::string> rows_;
};

/// The page about a model file. Rows are kept as text. The summary above them is known last, so all
/// is written by end().
class Page : public format::InspectSink {
 public:
  Page(format::OutputFile& out, const format::ModelFile& file)
      : out_(out), file_(file), words_(file.format().words) {}

  Status begin() override { return {}; }
  Status tensor(const format::TensorInfo& tensor) override;
  Status other(const format::OtherTensor& other) override;
  /// Writes the page, but does not commit the file. Fails as OutputFile does.
  Status end(const format::InspectTotals& totals);

 private:
  /// Sums over the tensors of one type and granularity.
  struct Sum {
    int64_t tensors = 0;
    int64_t elements = 0;
    int64_t bytes = 0;
    int64_t remarked = 0;
  };

  std::string summary(const format::InspectTotals& totals) const;
  std::string kinds() const;
  std::string metadata() const;
  /// How many of the tensors have details.
  size_t details() const;
  Status write_tensors();
  Status write_left();
  Status write_others();

  format::OutputFile& out_;
  const format::ModelFile& file_;
  const format::Words& words_;
  std::map<std::pair<std::string, std::string>, Sum> sums_;  ///< by type and granularity
  size_t tensors_ = 0;
  size_t left_ = 0;
  size_t others_ = 0;
  std::vector<std::string> tensor_rows_;  ///< with details
  PackedRows packed_rows_;                ///< of all tensors
  Rows left_rows_;
  Rows other_rows_;
};

// Parts of the page:

/// The page up to the start of the body: title, style sheets, and the script that sorts, filters
/// and shows counts. Browsers run no other script. Without scripts the page has all its contents
/// but packed rows.
std::string page_head(const std::string& title);

/// A cell with the least or the greatest of some numbers, which is also its sort key.
std::string end_cell(const format::Extent& e, double end);

/// A cell with the least and the greatest zero point; its sort key is the least.
std::string zero_point_cell(const format::Extent& e);

/// The row of a tensor that becomes floats, and the row of its details.
std::string tensor_rows(const format::TensorInfo& info, const format::Words& words, size_t index);

/// The row as data of the script, without details and pictures.
PackedRow packed_row(const format::TensorInfo& info, const format::Words& words);

/// The details of a tensor.
std::string tensor_details(const format::TensorInfo& info, size_t index);

/// Remarks about unusual facts of a tensor, each in a few words; mostly none.
std::vector<std::string> remarks(const format::TensorInfo& info);

}  // namespace dequant::tools
