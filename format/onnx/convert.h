// From a quantized model to a float one: every DequantizeLinear of constants becomes a float
// initializer.
#pragma once

#include <string>
#include <vector>

#include "format/io/leftovers.h"
#include "format/io/output.h"
#include "format/onnx/save.h"
#include "format/onnx/stream.h"
#include "format/onnx/strip.h"

namespace dequant::format::onnx {

struct ConvertOptions {
  bool assume_const = false;    ///< initializers that are graph inputs count as constant
  bool strip_qdq = false;       ///< take Q/DQ off activations too
  Clips clips = Clips::needed;  ///< where Clip nodes keep the ranges of what strip_qdq takes out
  bool external_data = false;   ///< float data in a file beside the model, whatever its size
  bool clean_temp = false;      ///< first remove what dead runs have left in the output's folder
  bool dry_run = false;         ///< decide and report, write nothing
  Checksums checksums = Checksums::verify;  ///< skip: with a warning for each
  bool require_float = false;        ///< fail with unsupported where anything stays quantized
  std::vector<std::string> include;  ///< globs over names; none: all
  std::vector<std::string> exclude;
  Overwrite overwrite = Overwrite::refuse;
  StreamOptions stream;
  Progress progress;  ///< of SaveOptions; while nodes are looked at, of nothing done and no total
};

/// A node that became a constant.
struct Folded {
  std::string node;
  std::string domain;
  std::string output;
  std::string x;
  Plan plan;
  std::optional<int64_t> axis;
  std::vector<int64_t> shape;
  int64_t bytes_before = 0;  ///< x, scale and zero point
  int64_t bytes_first = 0;   ///< of those that no node before it takes
  int64_t bytes_after = 0;
};

/// A quantized node that stays, and why.
struct Left {
  std::string node;
  std::string op_type;
  std::string domain;
  std::string output;
  std::string reason;
};

/// Where the time went.
struct Seconds {
  double total = 0;
  double decide = 0;  ///< reading the structure of the model and deciding on its nodes
  // Of tensor data, summed over threads that work side by side: their sum can exceed the total.
  double read = 0;
  double dequantize = 0;
  double write = 0;
  double flush = 0;  ///< to the disk, and into place
};

struct ConvertReport {
  std::vector<Folded> folded;
  std::vector<Stripped> stripped;
  std::vector<ChangedValue> inputs_changed;  ///< of the model, by strip_qdq
  std::vector<ChangedValue> outputs_changed;
  std::vector<Left> left;
  size_t removed_initializers = 0;
  size_t removed_nodes = 0;
  int64_t bytes_in = 0;  ///< of the model file
  int64_t bytes_out = 0;
  std::string data_file;  ///< written beside the output; empty: none
  int64_t data_bytes = 0;
  std::vector<Leftover> cleaned;  ///< with clean_temp
  std::vector<std::string> warnings;
  Seconds seconds;
};

/// Bytes of all that was folded, as it was (each tensor once) and as floats.
struct FoldedBytes {
  int64_t before = 0;
  int64_t after = 0;
};

FoldedBytes folded_bytes(const ConvertReport& report);

/// Reads one model and writes the other, whole or not at all.
Result<ConvertReport> convert(const std::string& input, const std::string& output,
                              const ConvertOptions& options);

}  // namespace dequant::format::onnx
