// Sums of the bytes of stored tensors, in which each stored tensor counts once.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "format/model/model_file.h"

namespace dequant::format {

/// Adds up bytes by the identity of their stored tensor.
class DistinctBytes {
 public:
  /// Returns `bytes`, or 0 where the identity was added before.
  int64_t add(const void* identity, int64_t bytes) {
    return seen_.insert(identity).second ? bytes : 0;
  }

  /// Returns the bytes of the stored tensors of a dense tensor that were not added before.
  int64_t add(const ModelFile& file, const DenseTensor& tensor) {
    int64_t sum = 0;
    const auto count = [&](const void* identity, int64_t bytes) { sum += add(identity, bytes); };
    file.for_each_source(tensor.stored, count);
    if (tensor.recipe) {
      tensor.recipe->for_each_parameter(
          [&](const StoredTensor& parameter) { file.for_each_source(parameter, count); });
    }
    return sum;
  }

 private:
  std::unordered_set<const void*> seen_;
};

}  // namespace dequant::format
