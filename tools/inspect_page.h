// What `dequant inspect --html` writes: one page that needs nothing but a browser.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/io/output.h"
#include "format/model/inspect.h"

namespace dequant::tools {

/// Rows of a table beyond this many are left out, and the page says so.
inline constexpr size_t kMostRows = 20'000;
/// Rows of tensors beyond this many wait for a click; without the script all are there.
inline constexpr size_t kFirstRows = 500;
/// Tensors beyond this many have a row, but nothing to unfold.
inline constexpr size_t kMostDetails = 1'000;

/// Text that grows, in parts: one text would be copied as it grows.
class Rows {
 public:
  void add(std::string_view text);
  Status write(format::OutputFile& out) const;

 private:
  std::vector<std::string> parts_;
};

/// The page about a model file. Rows become text as they come; what is above them, the sums,
/// is known last, and so all is written at the end.
class Page : public format::InspectSink {
 public:
  Page(format::OutputFile& out, const format::ModelFile& file)
      : out_(out), file_(file), words_(file.format().words) {}

  Status begin() override { return {}; }
  Status tensor(const format::TensorInfo& tensor) override;
  Status other(const format::OtherTensor& other) override;
  /// Writes the page, but does not commit the file.
  Status end(const format::InspectTotals& totals);

 private:
  /// Of the tensors of one kind.
  struct Sum {
    int64_t tensors = 0;
    int64_t elements = 0;
    int64_t bytes = 0;
    int64_t remarked = 0;
  };

  std::string summary(const format::InspectTotals& totals) const;
  std::string kinds() const;
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

// Its parts:

/// All up to the start of the body: the title, the style sheets, and the script that sorts, filters
/// and shows counts. Browsers run no other script; without it all is there to read.
std::string page_head(const std::string& title);

/// A cell with one end of some numbers, that sorts by it.
std::string end_cell(const format::Extent& e, double end);

/// The same with both ends of zero points, by the least.
std::string zero_point_cell(const format::Extent& e);

/// The row of one tensor that becomes floats, and below it what can be unfolded.
std::string tensor_rows(const format::TensorInfo& info, const format::Words& words, size_t index);

/// What can be unfolded.
std::string tensor_details(const format::TensorInfo& info, size_t index);

/// What is odd about a tensor, each in a few words; nothing if nothing is.
std::vector<std::string> remarks(const format::TensorInfo& info);

}  // namespace dequant::tools
