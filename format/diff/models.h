// How far the tensors of one model file are from those of another, of any formats.
#pragma once

#include <string>
#include <vector>

#include "format/diff/difference.h"
#include "format/model/model_file.h"

namespace dequant::format {

struct DiffOptions {
  std::optional<int64_t> axis;   ///< of the worst channels, of each tensor that has it
  size_t worst = 5;              ///< channels that are listed
  bool skip_mismatches = false;  ///< counted only, see Difference
  StreamOptions stream;
  Progress progress;  ///< of bytes of both sides
};

/// A tensor that both files have.
struct TensorDifference {
  std::string name;  ///< in a
  std::string name_in_b;
  Difference difference;
};

/// A tensor that both files have and that cannot be compared.
struct NotCompared {
  std::string name;
  std::string name_in_b;
  std::string reason;
};

struct ModelDifference {
  std::vector<TensorDifference> tensors;  ///< the worst first
  std::vector<NotCompared> skipped;
  std::vector<std::string> only_in_a;
  std::vector<std::string> only_in_b;

  /// True where both have the same tensors, and all elements are identical.
  bool exact() const;
};

/// Compares b with the reference a: quantized tensors dequantized, floats as they are stored.
/// Fails where a file cannot be read, as ModelFile does, and with limit where the channels of
/// `axis` do not fit the memory.
Result<ModelDifference> diff(ModelFile& a, ModelFile& b, const DiffOptions& options);

}  // namespace dequant::format
