// The default pool: oneTBB's, which the process shares.
#include "dequant/executor.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

namespace dequant {
namespace {

void run_all(std::size_t count, Executor::Task task, void* context) {
  tbb::parallel_for(
      std::size_t{0}, count, [&](std::size_t i) { task(context, i); }, tbb::simple_partitioner());
}

}  // namespace

Executor default_executor() noexcept {
  return {[](void*, std::size_t count, Executor::Task task, void* context) {
            run_all(count, task, context);
          },
          nullptr};
}

struct ThreadPool::Impl {
  tbb::task_arena arena;
};

// More threads than processors gain nothing, and oneTBB would complain of them on stderr.
ThreadPool::ThreadPool(int threads)
    : impl_(std::make_unique<Impl>(
          Impl{tbb::task_arena(threads > 0 ? std::min(threads, tbb::info::default_concurrency())
                                           : int{tbb::task_arena::automatic})})) {}

ThreadPool::~ThreadPool() = default;

Executor ThreadPool::executor() noexcept {
  return {[](void* self, std::size_t count, Executor::Task task, void* context) {
            static_cast<Impl*>(self)->arena.execute([&] { run_all(count, task, context); });
          },
          impl_.get()};
}

}  // namespace dequant
