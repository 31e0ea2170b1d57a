// The chunks of one call as tasks for an executor, which may run a task twice, from two threads, or
// not at all.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dequant/executor.h"

namespace dequant {

/// Runs each task once, however often and by however many threads an executor calls it: two threads
/// in one task would write the same bytes. A number that is no task does nothing. run() passes a
/// Tasks object to the executor as the context.
class Tasks {
 public:
  /// Most tasks of a call, as their flags are on the stack. Of more chunks a task has several.
  static constexpr std::size_t kMost = 4096;

  /// Chunk i is done by chunk(context, i).
  Tasks(Executor::Task chunk, void* context, std::size_t chunks) noexcept
      : chunk_(chunk),
        context_(context),
        chunks_(chunks),
        chunks_of_a_task_(chunks / kMost + (chunks % kMost != 0 ? 1 : 0)) {}

  std::size_t count() const noexcept {
    return chunks_ == 0 ? 0 : (chunks_ - 1) / chunks_of_a_task_ + 1;
  }

  /// Tasks that have run to their end. Their writes happen before the return of this function.
  std::size_t finished() const noexcept { return finished_.load(std::memory_order_acquire); }

  /// An Executor::Task.
  static void run(void* self, std::size_t i) { static_cast<Tasks*>(self)->run_once(i); }

 private:
  using Flags = uint64_t;
  static constexpr std::size_t kFlags = 64;

  void run_once(std::size_t i) {
    if (i >= count()) return;
    const Flags mine = Flags{1} << i % kFlags;
    if ((started_[i / kFlags].fetch_or(mine, std::memory_order_relaxed) & mine) != 0) return;
    const std::size_t begin = i * chunks_of_a_task_;
    const std::size_t left = chunks_ - begin;
    const std::size_t end = begin + (left < chunks_of_a_task_ ? left : chunks_of_a_task_);
    for (std::size_t k = begin; k < end; ++k) chunk_(context_, k);
    finished_.fetch_add(1, std::memory_order_release);
  }

  Executor::Task chunk_;
  void* context_;
  std::size_t chunks_;
  std::size_t chunks_of_a_task_;
  std::array<std::atomic<Flags>, kMost / kFlags> started_{};
  std::atomic<std::size_t> finished_{0};
};

}  // namespace dequant
