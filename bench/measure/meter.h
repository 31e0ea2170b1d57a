// Measuring a cell beside its ceiling: both take turns, so that a busy machine hits both alike.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "bench/measure/workload.h"

namespace dequant::bench {

/// The middle one, or the mean of the two in the middle; of at least one number.
double median(std::vector<double> numbers);

/// Of one run, medians.
struct Measurement {
  int64_t elements = 0;
  int64_t bytes = 0;
  double seconds = 0;
  double ceiling_seconds = 0;
  double percent_of_ceiling = 0;  ///< the median of the rounds' own percentages
  const char* ceiling = "";       ///< which one it is
  std::string way = {};           ///< of run(): dequant::explain()

  double elements_per_second() const { return static_cast<double>(elements) / seconds; }
  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
};

/// How often and by whom.
struct Effort {
  int threads = 1;  ///< 0: all processors
  int rounds = 5;   ///< four times as many where a run takes less than a millisecond
};

class Meter {
 public:
  /// Fails as Workload::make() and run() do.
  Result<Measurement> measure(const Cell& cell, int64_t elements, const Effort& effort);

  /// The executor of so many threads, valid as long as the meter.
  Executor executor(int threads);

  Memories& memories() noexcept { return memories_; }

 private:
  Result<Measurement> measure(const Workload& workload, const Effort& effort);
  const Way& best_way(const Workload& workload, int threads, int times);

  Memories memories_;
  std::map<int, std::unique_ptr<ThreadPool>> pools_;
  /// The best way to move bytes does not depend on what they mean: it is looked for once for each
  /// number of bytes read and written, and of threads.
  std::map<std::tuple<int64_t, size_t, int>, const Way*> ways_;
};

}  // namespace dequant::bench
