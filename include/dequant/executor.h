// Which threads run() works on: a pool that the library keeps, the caller's own threads, or the
// calling thread alone.
#pragma once

#include <cstddef>

#include "dequant/export.h"

namespace dequant {

/// A way to run tasks on threads. run() cuts a large tensor into `count` tasks, 4096 at most, and
/// calls parallel_for(self, count, task, context) once. That function must call task(context, i)
/// for every i in [0, count), in any order and on any threads, and return when all calls have
/// returned. It must not throw; tasks do not throw.
///
/// run() verifies this: it fails with invalid_argument if a task was left out or had not ended when
/// parallel_for returned, and y is incomplete then. A second call for the same i does nothing, and
/// so does a call for an i outside of [0, count). No task may start or run after the return.
///
/// An Executor is two pointers and copied freely; what `self` points to must live until run()
/// returns. A null parallel_for means that tasks run one after another on the calling thread.
struct Executor {
  using Task = void (*)(void* context, std::size_t i);
  void (*parallel_for)(void* self, std::size_t count, Task task, void* context) = nullptr;
  void* self = nullptr;  ///< handed to parallel_for unchanged; dequant does not look at it
};

/// Runs every task on the calling thread.
inline Executor sequential_executor() noexcept { return {}; }

/// Runs tasks on the thread pool of the library, which all callers in the process share: one thread
/// for each processor that the first caller's affinity mask allows. Threads of the pool start when
/// a large tensor first needs them, as many as the system grants, and stay until the process ends.
/// A shared library that contains dequant and may be unloaded must therefore be linked with
/// -z nodelete. In the child of a fork the pool has no threads: tasks run on the calling thread.
DEQUANT_EXPORT Executor default_executor() noexcept;

/// A limit on how many threads of the pool behind default_executor() one run() takes. Owns no
/// threads and costs nothing to make.
class DEQUANT_EXPORT ThreadPool {
 public:
  /// At most `threads` threads work on one run(), the calling thread included: 1 means the calling
  /// thread alone, 0 or less means all processors.
  explicit ThreadPool(int threads) noexcept;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// An executor with that limit, valid as long as this object. Several threads may use it at the
  /// same time; the limit holds for the run() of each.
  Executor executor() noexcept;

 private:
  std::size_t threads_;
};

}  // namespace dequant
