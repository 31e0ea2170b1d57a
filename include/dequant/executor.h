// Who runs the chunks of a large tensor: the caller's threads, the default pool, or nobody else.
#pragma once

#include <cstddef>

#include "dequant/export.h"

namespace dequant {

/// "Call task(context, i) once for every i in [0, count), in any order, on any threads; return when
/// all are done." A null parallel_for runs them one after another on the calling thread. Neither the
/// function nor a task may throw. run() does a task that is called for twice once, ignores a number that
/// is no task, and fails when a task was left out or has not ended; none may run after the return. There
/// are at most 4096 tasks. Copies are cheap; `self` must outlive the calls.
struct Executor {
  using Task = void (*)(void* context, std::size_t i);
  void (*parallel_for)(void* self, std::size_t count, Task task, void* context) = nullptr;
  void* self = nullptr;
};

/// One thread: the caller's.
inline Executor sequential_executor() noexcept { return {}; }

/// All processors that the thread may use which asks first, by a pool that the process shares. Its threads
/// start when large tensors need them, as many as the system gives, and stay until the process ends: a
/// library that holds this one and can be unloaded must be linked with -z nodelete. The child of a process
/// that forked after the start works on its calling threads alone.
DEQUANT_EXPORT Executor default_executor() noexcept;

/// The same pool, of which each call takes at most a number of threads, the caller's included: 1 is
/// the caller's alone, 0 or less means all processors. Owns no threads and costs nothing to make.
class DEQUANT_EXPORT ThreadPool {
 public:
  explicit ThreadPool(int threads) noexcept;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Valid as long as the ThreadPool. Any number of threads may use it at once, each with a limit of
  /// its own.
  Executor executor() noexcept;

 private:
  std::size_t threads_;
};

}  // namespace dequant
