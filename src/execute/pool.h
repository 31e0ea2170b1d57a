// The thread pool of the process: threads are created when a call first needs them, and all calls
// share them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "dequant/executor.h"

namespace dequant {

/// The calling thread runs tasks itself, and idle threads of the pool help. So a call needs no
/// thread but its own: where the system refuses to create threads, the existing ones do the work.
/// (oneTBB's workers start each other, and end the process when one of them cannot start the next.)
/// A pool is never destroyed: its threads sleep until the process ends.
class Pool {
 public:
  constexpr Pool() noexcept = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Runs the tasks 0 to count - 1 once each, on at most `threads` threads, the calling one
  /// included.
  void run(std::size_t count, Executor::Task task, void* context, std::size_t threads) noexcept;

 private:
  struct Call;

  void begin(Call& call) noexcept;
  void end(Call& call) noexcept;
  void grow(std::size_t workers) noexcept;
  [[noreturn]] void help() noexcept;

  std::mutex lock_;          ///< guards all members, here and in Call, that are not atomic
  Call* calls_ = nullptr;    ///< calls in progress, the newest first
  std::size_t workers_ = 0;  ///< threads of the pool
  std::size_t helping_ = 0;  ///< threads of the pool that have entered help()
  std::chrono::steady_clock::time_point next_try_{};  ///< when threads may be created again
  std::atomic<uint32_t> begun_{0};                    ///< calls; idle threads wait for the next
  std::atomic<uint32_t> ended_{0};  ///< calls whose last helper left while the caller waited
};

/// The number of processors that the first calling thread may run on.
std::size_t processors() noexcept;

}  // namespace dequant
