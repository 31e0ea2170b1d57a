// The executors of the library: the thread pool of the process, with or without a limit.
#include "dequant/executor.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "execute/pool.h"

namespace dequant {
namespace {

constinit Pool pool;

/// A child forked from a process that has used the pool has none: the pool's threads do not exist
/// in the child, and a thread of the parent may hold its locks.
enum class PoolState { kUnused, kUsed, kLostInFork };
std::atomic<PoolState> pool_state = PoolState::kUnused;

/// Registered when the library is loaded: a fork during the first call would go unnoticed.
const bool watches_forks = pthread_atfork(nullptr, nullptr, [] {
                             if (pool_state == PoolState::kUsed)
                               pool_state = PoolState::kLostInFork;
                           }) == 0;

/// True if this process may use the pool, which then counts as used.
bool use_pool() noexcept {
  if (!watches_forks) return false;  // for lack of memory
  const PoolState now = pool_state.load(std::memory_order_relaxed);
  if (now == PoolState::kUnused) pool_state = PoolState::kUsed;
  return now != PoolState::kLostInFork;
}

/// Runs the tasks on at most `limit` threads; 0: one for each processor.
void run_all(std::size_t count, Executor::Task task, void* context, std::size_t limit) noexcept {
  const std::size_t threads = use_pool() ? processors() : 1;
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
