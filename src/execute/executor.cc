// The default executors: the pool of this process, and the pool with a limit.
#include "dequant/executor.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "execute/pool.h"

namespace dequant {
namespace {

constinit Pool pool;

/// Where this process stands with the pool. The child of a process that had begun to use it is
/// without: the pool's threads are not there, and its locks may be held by threads that are not
/// there either.
enum class Standing { kUnused, kUsed, kWithout };
std::atomic<Standing> standing = Standing::kUnused;

/// Asked for when the library is loaded: a fork while the first call asks would be one that nobody
/// is told of.
const bool watches_forks = pthread_atfork(nullptr, nullptr, [] {
                             if (standing == Standing::kUsed) standing = Standing::kWithout;
                           }) == 0;

/// Whether the pool may be used; says first that it is.
bool pool_is_here() noexcept {
  if (!watches_forks) return false;  // for lack of memory
  const Standing now = standing.load(std::memory_order_relaxed);
  if (now == Standing::kUnused) standing = Standing::kUsed;
  return now != Standing::kWithout;
}

/// `limit` threads at most; 0: all processors.
void run_all(std::size_t count, Executor::Task task, void* context, std::size_t limit) noexcept {
  const std::size_t threads = pool_is_here() ? processors() : 1;
  pool.run(count, task, context, limit != 0 ? std::min(threads, limit) : threads);
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
