// A cell with memory: its plan, its buffers, the bytes it moves.
#pragma once

#include "bench/measure/ceiling.h"
#include "bench/measure/cells.h"
#include "bench/measure/memory.h"

namespace dequant::bench {

/// The memory that all workloads share, one after another.
class Memories {
 public:
  /// Room for a plan's tensors, filled. Fails with out_of_memory when the machine has less free
  /// than they take; of a plan for which no sizes can be said with invalid_argument.
  Result<Buffers> prepare(const Plan& plan);

 private:
  void release() noexcept;

  Memory x_{0}, scale_{1 * 4160}, zero_point_{2 * 4160}, min_range_{3 * 4160}, max_range_{4 * 4160},
      y_{5 * 4160};
};

/// The bytes that a plan's tensors take.
Result<int64_t> bytes_needed(const Plan& plan);

struct Workload {
  Plan plan;
  Buffers buffers;
  Traffic traffic;  ///< what run() must read and write at least, in whole cache lines
  int64_t elements = 0;
  int64_t bytes = 0;           ///< of the traffic
  bool beyond_caches = false;  ///< the output outgrows the last-level cache

  static Result<Workload> make(const Cell& cell, int64_t elements, Memories& memories);
};

}  // namespace dequant::bench
