// `dequant inspect` of files with very many tensors: what the file has, by its structure alone,
// with names that differ in numbers only on one line.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "format/model/model_file.h"

namespace dequant::tools {

/// Tensors of one kind, whose names are one pattern.
struct FoldedTensors {
  std::string pattern;
  std::string scheme;  ///< of a quantized tensor
  std::string type;    ///< of the codes, or of a tensor without a recipe
  std::string scale;   ///< type and shape of the scales
  std::string granularity;
  std::string output;  ///< the float type
  std::string shape;   ///< dense
  std::string reason;  ///< why a tensor is dropped or stays quantized
  int64_t count = 0;
  int64_t elements = 0;
  int64_t bytes = 0;        ///< of the stored tensors of each
  int64_t bytes_first = 0;  ///< of those stored tensors that no earlier tensor has
  int64_t float_bytes = 0;
};

/// All tensors of a file.
struct Structure {
  std::vector<FoldedTensors> dense;  ///< those that a recipe computes
  std::vector<FoldedTensors> left;   ///< those that stay quantized
  std::vector<FoldedTensors> copied;
  std::vector<FoldedTensors> dropped;
};

/// The converted tensors of a report.
std::vector<FoldedTensors> folded(const std::vector<format::Converted>& converted);

/// Reads no tensor data. Fails as ModelFile::visit() does.
Result<Structure> structure_of(format::ModelFile& file);

/// Tables and a summary on standard output.
void print_structure(const format::ModelFile& file, const Structure& structure);

/// The same as one JSON object: the facts of the file, a list for each part, and totals.
nlohmann::ordered_json to_json(const format::ModelFile& file, const Structure& structure);

}  // namespace dequant::tools
