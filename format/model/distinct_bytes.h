// Bytes of stored tensors, each counted once however many tensors are computed from it.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "format/model/model_file.h"

namespace dequant::format {

class DistinctBytes {
 public:
  /// The bytes, unless what the identity names was added before: then 0.
  int64_t add(const void* identity, int64_t bytes) {
    return seen_.insert(identity).second ? bytes : 0;
  }

  /// Those of the stored tensors of a dense tensor that were not added before.
  int64_t add(const ModelFile& file, const DenseTensor& tensor) {
    int64_t sum = 0;
    const auto count = [&](const void* identity, int64_t bytes) { sum += add(identity, bytes); };
    file.for_each_source(tensor.stored, count);
    if (!tensor.recipe) return sum;
    file.for_each_source(tensor.recipe->scale, count);
    if (tensor.recipe->zero_point) file.for_each_source(*tensor.recipe->zero_point, count);
    return sum;
  }

 private:
  std::unordered_set<const void*> seen_;
};

}  // namespace dequant::format
