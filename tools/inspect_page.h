// What `dequant inspect --html` writes: one page that needs nothing but a browser.
#pragma once

#include <string>
#include <string_view>

#include "format/io/output.h"
#include "format/onnx/inspect.h"

namespace dequant::tools {

/// Rows of a table beyond this many are left out, and the page says so.
inline constexpr size_t kMostRows = 20'000;
/// Rows of tensors beyond this many wait for a click; without the script all are there.
inline constexpr size_t kFirstRows = 500;
/// Tensors beyond this many have a row, but nothing to unfold.
inline constexpr size_t kMostDetails = 1'000;

/// The whole page about the model of that path.
Status write_page(format::OutputFile& out, const std::string& model,
                  const format::onnx::InspectReport& report);

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
