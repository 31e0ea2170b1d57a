// The default pool: oneTBB's, which the process shares.
#include "dequant/executor.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>

namespace dequant {
namespace {

void run_all(std::size_t count, Executor::Task task, void* context) {
  tbb::parallel_for(
      std::size_t{0}, count, [&](std::size_t i) { task(context, i); }, tbb::simple_partitioner());
}

/// What takes part in a limited call: as many of these as threads may, each of which does the next
/// task until none is left. An arena of that many threads would limit them too, but to make one takes
/// longer than a small tensor does, and its workers come later than those of the caller's arena.
struct Takers {
  Executor::Task task;
  void* context;
  std::size_t count;
  std::atomic<std::size_t> next{0};

  static void run(void* self, std::size_t) {
    auto& t = *static_cast<Takers*>(self);
    for (std::size_t i = t.next++; i < t.count; i = t.next++) t.task(t.context, i);
  }
};

}  // namespace

Executor default_executor() noexcept {
  return {[](void*, std::size_t count, Executor::Task task, void* context) {
            run_all(count, task, context);
          },
          nullptr};
}

ThreadPool::ThreadPool(int threads) noexcept
    : threads_(threads > 0 ? static_cast<std::size_t>(threads) : 0) {}

Executor ThreadPool::executor() noexcept {
  if (threads_ == 0) return default_executor();
  if (threads_ == 1) return sequential_executor();
  return {[](void* self, std::size_t count, Executor::Task task, void* context) {
            Takers takers{task, context, count};
            run_all(std::min(count, static_cast<ThreadPool*>(self)->threads_), Takers::run,
                    &takers);
          },
          this};
}

}  // namespace dequant
