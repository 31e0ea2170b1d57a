// Measures a cell and its ceiling alternately, so that other load on the machine slows both.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "bench/measure/workload.h"

namespace dequant::bench {

/// The median; of an even count the mean of the two middle numbers. Requires at least one number.
double median(std::vector<double> numbers);

/// The medians of one measurement, for one run.
struct Measurement {
  int64_t elements = 0;
  int64_t bytes = 0;
  double seconds = 0;
  double ceiling_seconds = 0;
  double percent_of_ceiling = 0;  ///< the median of the percentages of all rounds
  const char* ceiling = "";       ///< name of the ceiling's method
  std::string way = {};           ///< of run(): dequant::explain()

  double elements_per_second() const { return static_cast<double>(elements) / seconds; }
  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
};

/// Number of threads and of rounds.
struct Effort {
  int threads = 1;  ///< 0: all processors
  int rounds = 5;   ///< four times as many if a run takes less than a millisecond
};

class Meter {
 public:
  /// Fails as Workload::make() and run() do.
  Result<Measurement> measure(const Cell& cell, int64_t elements, const Effort& effort);

  /// An executor with this number of threads (0: all processors), valid as long as the meter.
  Executor executor(int threads);

  Memories& memories() noexcept { return memories_; }

 private:
  Result<Measurement> measure(const Workload& workload, const Effort& effort);
  const Way& best_way(const Workload& workload, int threads, int times);

  Memories memories_;
  std::map<int, std::unique_ptr<ThreadPool>> pools_;
  /// The fastest method for each number of bytes, of bytes written and of threads. It does not
  /// depend on the type of the data, so it is determined once.
  std::map<std::tuple<int64_t, size_t, int>, const Way*> ways_;
};

}  // namespace dequant::bench
