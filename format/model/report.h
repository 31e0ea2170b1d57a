// The report of a conversion.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dequant/plan.h"
#include "format/io/leftovers.h"
#include "format/io/phases.h"
#include "format/model/share.h"
#include "format/model/words.h"

namespace dequant::format {

/// A tensor that became floats. Names as in TensorFacts.
struct Converted {
  std::string node;
  std::string scheme;
  std::string name;
  std::string constant;  ///< in a graph: `name`, or a new name where a Cast follows the constant
  std::string source;
  Plan plan;  ///< plan.output is the type that was written
  std::optional<int64_t> axis;
  std::vector<int64_t> shape;
  int64_t bytes_before = 0;  ///< of all its stored tensors
  int64_t bytes_first = 0;   ///< of its stored tensors that no earlier tensor has
  int64_t bytes_after = 0;
  // Of checkpoints: scales, those of the whole tensor and floats that are zero points included.
  int64_t nan_scales = 0;
  int64_t infinite_scales = 0;
};

/// A node, or a tensor, that stays quantized, and why.
struct Left {
  std::string node;     ///< its name
  std::string op_type;  ///< of a node
  std::string scheme;
  std::string name;
  std::string reason;
};

/// A tensor that the output does not need, and why.
struct DroppedTensor {
  std::string name;
  std::string reason;
};

/// A node that was removed from a graph, and what replaces it.
struct Stripped {
  std::string node;
  std::string op_type;
  std::string how;  ///< the replacement, in words
};

/// The numbers of a scale or zero point, where they are constant and few enough to print.
struct Listed {
  bool known = false;
  std::vector<double> numbers;
};

/// An input or output of a graph whose type was changed, and its quantization parameters before.
struct ChangedValue {
  std::string name;
  Element from = Element::uint8;
  Element to = Element::float32;
  Listed scale;
  Listed zero_point;
  std::optional<int64_t> axis;  ///< the attribute of the node; none if per tensor
};

/// The time of each phase.
struct Seconds {
  double total = 0;
  double decide = 0;  ///< reading the structure of the file and deciding on its tensors
  // Of tensor data, summed over threads: these can exceed the total.
  double read = 0;
  double dequantize = 0;
  double write = 0;
  double flush = 0;  ///< flushing files to the disk and giving them their names

  /// Sets the seconds in which tensor data were read, dequantized, written and flushed.
  void set(const Phases& phases) {
    const auto seconds = [](int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; };
    read = seconds(phases.read);
    dequantize = seconds(phases.dequantize);
    write = seconds(phases.write);
    flush = seconds(phases.flush);
  }
};

/// Everything that a conversion reports.
struct ConvertReport {
  Words words;  ///< of the format
  std::vector<Converted> converted;
  std::vector<Stripped> stripped;  ///< like the next two members, only of formats with graphs
  std::vector<ChangedValue> inputs_changed;
  std::vector<ChangedValue> outputs_changed;
  std::vector<Left> left;
  std::vector<DroppedTensor> dropped;
  std::vector<std::string> files_copied;    ///< of a folder: files without tensors
  std::vector<std::string> files_left_out;  ///< of a folder: files that are not for the output
  size_t removed_initializers = 0;
  size_t removed_nodes = 0;
  int64_t bytes_in = 0;  ///< of the input file
  int64_t bytes_out = 0;
  std::string data_file;  ///< written beside the output; empty: none
  int64_t data_bytes = 0;
  std::vector<Leftover> cleaned;  ///< temporary files of killed processes that were removed
  std::vector<std::string> warnings;
  Seconds seconds;
  std::optional<ShareReport> share;  ///< of a call with WriteOptions::share
};

/// Bytes of all converted tensors: as stored, each stored tensor counted once, and as floats.
struct ConvertedBytes {
  int64_t before = 0;
  int64_t after = 0;
};

ConvertedBytes converted_bytes(const ConvertReport& report);

}  // namespace dequant::format
