// A cell with its plan, its buffers, and the bytes that it reads and writes.
#pragma once

#include "bench/measure/ceiling.h"
#include "bench/measure/cells.h"
#include "bench/measure/memory.h"

namespace dequant::bench {

/// Memory for one workload at a time, reused by the next.
class Memories {
 public:
  /// Filled buffers for the tensors of a plan. Fails with out_of_memory if the machine has too
  /// little free memory, with invalid_argument for a plan whose sizes overflow.
  Result<Buffers> prepare(const Plan& plan);

 private:
  void release() noexcept;

  Memory x_{0}, scale_{1 * 4160}, zero_point_{2 * 4160}, min_range_{3 * 4160}, max_range_{4 * 4160},
      y_{5 * 4160}, group_index_{6 * 4160}, codebook_{7 * 4160};

  std::array<Memory*, 8> all() {
    return {&x_, &scale_, &zero_point_, &min_range_, &max_range_, &y_, &group_index_, &codebook_};
  }
};

/// The bytes of all tensors of a plan.
Result<int64_t> bytes_needed(const Plan& plan);

struct Workload {
  Plan plan;
  Buffers buffers;
  Traffic traffic;  ///< the bytes that run() must read and write, in whole cache lines
  int64_t elements = 0;
  int64_t bytes = 0;           ///< read and written
  bool beyond_caches = false;  ///< the output is larger than the last-level cache

  static Result<Workload> make(const Cell& cell, int64_t elements, Memories& memories);
};

}  // namespace dequant::bench
