// The default pool: oneTBB's, which the process shares.
#include "dequant/executor.h"

#include <pthread.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace dequant {
namespace {

/// What takes part in a call: as many takers as threads may. The tasks are dealt out in stretches, one
/// for each taker, so that who calls again finds the same part of x and y in the same core's cache.
/// Who is done with a stretch helps with the next one. An arena of that many threads would limit them
/// too, but to make one takes longer than a small tensor does.
class Takers {
 public:
  Takers(Executor::Task task, void* context, std::size_t count, std::size_t threads) noexcept
      : task_(task), context_(context), stretches_(std::min({count, threads, kMost})) {
    for (std::size_t k = 0; k < stretches_; ++k) {
      stretch_[k].next.store(edge(count, k), std::memory_order_relaxed);
      stretch_[k].end = edge(count, k + 1);
    }
  }

  void run(std::size_t threads) {
    tbb::parallel_for(
        std::size_t{0}, threads, [this](std::size_t k) { take(k); }, tbb::static_partitioner());
  }

 private:
  static constexpr std::size_t kMost = 64;

  /// On a line of the cache of its own: threads count in it.
  struct alignas(64) Stretch {
    std::atomic<std::size_t> next;
    std::size_t end;
  };

  std::size_t edge(std::size_t count, std::size_t k) const noexcept {
    return count / stretches_ * k + std::min(count % stretches_, k);
  }

  void take(std::size_t first) {
    for (std::size_t k = 0; k < stretches_; ++k) {
      Stretch& stretch = stretch_[(first + k) % stretches_];
      for (std::size_t i = stretch.next++; i < stretch.end; i = stretch.next++) task_(context_, i);
    }
  }

  Executor::Task task_;
  void* context_;
  std::size_t stretches_;
  std::array<Stretch, kMost> stretch_;
};

/// Where this process stands with the pool. The child of a process that had begun to use it is without: the
/// pool's threads are not there, and its locks may be held by threads that are not there either.
enum class Standing { kUnused, kUsed, kWithout };
std::atomic<Standing> standing = Standing::kUnused;

/// Asked for when the library is loaded: a fork while the first call asks would be one that nobody is told of.
[[maybe_unused]] const int watches_forks = pthread_atfork(nullptr, nullptr, [] {
  if (standing == Standing::kUsed) standing = Standing::kWithout;
});

/// Whether the pool may be used; says first that it is.
bool pool_is_here() noexcept {
  const Standing now = standing.load(std::memory_order_relaxed);
  if (now == Standing::kUnused) standing = Standing::kUsed;
  return now != Standing::kWithout;
}

/// `limit` threads at most; 0: as many as the arena of the caller has.
void run_all(std::size_t count, Executor::Task task, void* context, std::size_t limit) {
  if (!pool_is_here()) {
    for (std::size_t i = 0; i < count; ++i) task(context, i);
    return;
  }
  if (count == 0) return;
  std::size_t threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  if (limit != 0) threads = std::min(threads, limit);
  threads = std::min(threads, count);
  Takers(task, context, count, threads).run(threads);
}

}  // namespace

Executor default_executor() noexcept {
  return {[](void*, std::size_t count, Executor::Task task, void* context) {
            run_all(count, task, context, 0);
          },
          nullptr};
}

ThreadPool::ThreadPool(int threads) noexcept
    : threads_(threads > 0 ? static_cast<std::size_t>(threads) : 0) {}

Executor ThreadPool::executor() noexcept {
  if (threads_ == 0) return default_executor();
  if (threads_ == 1) return sequential_executor();
  return {[](void* self, std::size_t count, Executor::Task task, void* context) {
            run_all(count, task, context, static_cast<ThreadPool*>(self)->threads_);
          },
          this};
}

}  // namespace dequant
