// Comparing the tensors of two model files of any formats.
#pragma once

#include <string>
#include <vector>

#include "format/diff/difference.h"
#include "format/model/model_file.h"

namespace dequant::format {

/// Options of diff().
struct DiffOptions {
  std::optional<int64_t> axis;   ///< of the channels that are listed, in tensors that have the axis
  size_t worst = 5;              ///< channels that are listed at most
  bool skip_mismatches = false;  ///< see Difference
  StreamOptions stream;
  Progress progress;  ///< counts bytes of both files
};

/// The difference of a tensor that both files have.
struct TensorDifference {
  std::string name;  ///< in file a
  std::string name_in_b;
  Difference difference;
};

/// A tensor that both files have but that cannot be compared.
struct NotCompared {
  std::string name;
  std::string name_in_b;
  std::string reason;
};

/// What diff() returns.
struct ModelDifference {
  std::vector<TensorDifference> tensors;  ///< in the order of is_worse(), the worst first
  std::vector<NotCompared> skipped;
  std::vector<std::string> only_in_a;
  std::vector<std::string> only_in_b;

  /// True where both files have the same floats, and all are identical. Integers are not looked at.
  bool exact() const;
};

/// Compares the tensors of b with those of the reference a. Quantized tensors are dequantized,
/// floats are compared as they are stored. Fails as ModelFile::visit() and stream() do, and with
/// limit where the channels of `axis` need more than a quarter of the memory.
Result<ModelDifference> diff(ModelFile& a, ModelFile& b, const DiffOptions& options);

}  // namespace dequant::format
