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
/// Tensors with details; further tensors only have a row.
inline constexpr size_t kMostDetails = 1'000;

/// A growing text, as a list of strings: a single string would be copied when it grows.
class Rows {
 public:
  void add(std::string_view text);
  Status write(format::OutputFile& out) const;

 private:
  std::vector<std::string> parts_;
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
  Rows tensor_rows_;
  Rows left_rows_;
  Rows other_rows_;
};

// Parts of the page:

/// The page up to the start of the body: title, style sheets, and the script that sorts, filters
/// and shows counts. Browsers run no other script. Without scripts the page has all its contents.
std::string page_head(const std::string& title);

/// A cell with the least or the greatest of some numbers, which is also its sort key.
std::string end_cell(const format::Extent& e, double end);

/// A cell with the least and the greatest zero point; its sort key is the least.
std::string zero_point_cell(const format::Extent& e);

/// The row of a tensor that becomes floats, and the row of its details.
std::string tensor_rows(const format::TensorInfo& info, const format::Words& words, size_t index);

/// The details of a tensor.
std::string tensor_details(const format::TensorInfo& info, size_t index);

/// Remarks about unusual facts of a tensor, each in a few words; mostly none.
std::vector<std::string> remarks(const format::TensorInfo& info);

}  // namespace dequant::tools
