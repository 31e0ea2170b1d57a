// What a conversion did.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dequant/plan.h"
#include "format/io/leftovers.h"
#include "format/model/words.h"

namespace dequant::format {

/// A tensor that became floats. Texts as of TensorFacts.
struct Converted {
  std::string node;
  std::string scheme;
  std::string name;
  std::string constant;  ///< in a graph: the name, or a new one, which a Cast to the name reads
  std::string source;
  Plan plan;  ///< its output is the type of the floats that were written
  std::optional<int64_t> axis;
  std::vector<int64_t> shape;
  int64_t bytes_before = 0;  ///< of all stored tensors that it takes
  int64_t bytes_first = 0;   ///< of those that no tensor before it takes
  int64_t bytes_after = 0;
};

/// A node, or a tensor, that stays quantized, and why.
struct Left {
  std::string node;     ///< what people call it
  std::string op_type;  ///< of a node
  std::string scheme;
  std::string name;
  std::string reason;
};

/// A node of a graph that was taken out, and what stands in its place.
struct Stripped {
  std::string node;
  std::string op_type;
  std::string how;
};

/// The numbers of a scale or zero point, where they are constant and no more than people read.
struct Listed {
  bool known = false;
  std::vector<double> numbers;
};

/// An input or output of a graph whose type was changed, and what its numbers were quantized by.
struct ChangedValue {
  std::string name;
  Element from = Element::uint8;
  Element to = Element::float32;
  Listed scale;
  Listed zero_point;
  std::optional<int64_t> axis;  ///< as the node gives it; none if per tensor
};

/// Where the time went.
struct Seconds {
  double total = 0;
  double decide = 0;  ///< reading the structure of the file and deciding on its tensors
  // Of tensor data, summed over threads that work side by side: their sum can exceed the total.
  double read = 0;
  double dequantize = 0;
  double write = 0;
  double flush = 0;  ///< to the disk, and into place
};

struct ConvertReport {
  Words words;  ///< of the format
  std::vector<Converted> converted;
  std::vector<Stripped> stripped;  ///< this and the next two only of formats with graphs
  std::vector<ChangedValue> inputs_changed;
  std::vector<ChangedValue> outputs_changed;
  std::vector<Left> left;
  size_t removed_initializers = 0;
  size_t removed_nodes = 0;
  int64_t bytes_in = 0;  ///< of the file read
  int64_t bytes_out = 0;
  std::string data_file;  ///< written beside the output; empty: none
  int64_t data_bytes = 0;
  std::vector<Leftover> cleaned;  ///< temporary files of dead runs that were removed
  std::vector<std::string> warnings;
  Seconds seconds;
};

/// Bytes of all that was converted, as it was (each stored tensor once) and as floats.
struct ConvertedBytes {
  int64_t before = 0;
  int64_t after = 0;
};

ConvertedBytes converted_bytes(const ConvertReport& report);

}  // namespace dequant::format
