// What `dequant inspect --html` writes: one page that needs nothing but a browser.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/io/output.h"
#include "format/onnx/inspect.h"

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

/// The page about the model of a path. Rows become text as they come; what is above them, the sums, is known
/// last, and so all is written at the end.
class Page : public format::onnx::InspectSink {
 public:
  Page(format::OutputFile& out, const std::string& model) : out_(out), model_(model) {}

  Status begin(const format::onnx::InspectHead& head) override;
  Status node(const format::onnx::DequantizeInfo& node) override;
  Status other(const format::onnx::OtherConstant& constant,
               const format::onnx::Readers& readers) override;
  /// Writes the page, but does not commit the file.
  Status end(const format::onnx::InspectTotals& totals);

 private:
  /// Of the tensors of one kind.
  struct Sum {
    int64_t tensors = 0;
    int64_t elements = 0;
    int64_t bytes = 0;
    int64_t remarked = 0;
  };

  std::string summary(const format::onnx::InspectTotals& totals) const;
  std::string kinds() const;
  Status write_tensors();
  Status write_open_nodes();
  Status write_others();

  format::OutputFile& out_;
  const std::string model_;
  format::onnx::InspectHead head_;
  std::map<std::pair<std::string, std::string>, Sum> sums_;  ///< by type and granularity
  size_t tensors_ = 0;
  size_t open_ = 0;
  size_t others_ = 0;
  Rows tensor_rows_;
  Rows open_rows_;
  Rows other_rows_;
};

// Its parts:

/// The style sheets, and the script that sorts, filters and shows counts; without it all is there to read.
extern const std::string_view kPageStyle;
extern const std::string_view kPageStyleWithoutScript;
extern const std::string_view kPageScript;
/// The SHA-256 of the script in base64: browsers run no other.
extern const std::string_view kPageScriptHash;

/// A cell with one end of some numbers, that sorts by it.
std::string end_cell(const format::onnx::Extent& e, double end);

/// The same with both ends of zero points, by the least.
std::string zero_point_cell(const format::onnx::Extent& e);

/// The row of one constant DequantizeLinear, and below it what can be unfolded.
std::string tensor_rows(const format::onnx::DequantizeInfo& info, size_t index);

/// What can be unfolded.
std::string tensor_details(const format::onnx::DequantizeInfo& info, size_t index);

/// What is odd about a tensor, each in a few words; nothing if nothing is.
std::vector<std::string> remarks(const format::onnx::DequantizeInfo& info);

}  // namespace dequant::tools
