// Measures a cell and its ceiling alternately.
#include "bench/measure/meter.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "dequant/explain.h"

namespace dequant::bench {
namespace {

/// Seconds of a sample at least: shorter runs are repeated, because reading the clock takes time.
constexpr double kShortestSample = 1e-3;
constexpr double kMostTimes = 1 << 20;

/// The time in seconds: processor time for one thread, which excludes other programs; wall time for
/// several threads.
double now(int threads) {
  timespec t{};
  ::clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Seconds of one call, from `times` consecutive calls. If there are several, an untimed call
/// before them loads the data into the caches.
template <class Call>
double seconds(int threads, int times, Call call) {
  if (times > 1) call();
  const double start = now(threads);
  for (int i = 0; i < times; ++i) call();
  return (now(threads) - start) / times;
}

}  // namespace

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  if (numbers.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(numbers.begin(), middle)) / 2;
}

Executor Meter::executor(int threads) {
  if (threads == 0) return default_executor();
  if (threads == 1) return sequential_executor();
  auto& pool = pools_[threads];
  if (!pool) pool = std::make_unique<ThreadPool>(threads);
  return pool->executor();
}

const Way& Meter::best_way(const Workload& w, int threads, int times) {
  const auto key = std::tuple{w.bytes, w.traffic.write.size(), threads};
  if (const auto found = ways_.find(key); found != ways_.end()) return *found->second;
  const auto ways = w.beyond_caches ? ways_beyond_caches() : ways_in_caches();
  std::vector<double> best(ways.size(), HUGE_VAL);
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < ways.size(); ++i) {
      best[i] = std::min(
          best[i], seconds(threads, times, [&] { move(w.traffic, ways[i], executor(threads)); }));
    }
  }
  const auto at = std::min_element(best.begin(), best.end()) - best.begin();
  return *(ways_[key] = &ways[static_cast<size_t>(at)]);
}

Result<Measurement> Meter::measure(const Workload& w, const Effort& effort) {
  const RunOptions options{executor(effort.threads)};
  DEQUANT_CHECK(run(w.plan, w.buffers, options));
  const double once = seconds(effort.threads, 1, [&] { (void)run(w.plan, w.buffers, options); });
  const int times = static_cast<int>(
      std::clamp(std::ceil(kShortestSample / std::max(once, 1e-9)), 1.0, kMostTimes));
  const Way& way = best_way(w, effort.threads, times);

  std::vector<double> cells;
  std::vector<double> ceilings;
  std::vector<double> percents;
  const int rounds = times > 1 ? effort.rounds * 4 : effort.rounds;
  for (int round = 0; round < rounds; ++round) {
    ceilings.push_back(
        seconds(effort.threads, times, [&] { move(w.traffic, way, options.executor); }));
    cells.push_back(seconds(effort.threads, times, [&] { (void)run(w.plan, w.buffers, options); }));
    percents.push_back(ceilings.back() / cells.back() * 100);
  }
  DEQUANT_TRY(std::string explained, explain(w.plan, options));
  return Measurement{w.elements,       w.bytes,  median(cells),       median(ceilings),
                     median(percents), way.name, std::move(explained)};
}

Result<Measurement> Meter::measure(const Cell& cell, int64_t elements, const Effort& effort) {
  DEQUANT_TRY(const Workload workload, Workload::make(cell, elements, memories_));
  return measure(workload, effort);
}

}  // namespace dequant::bench
