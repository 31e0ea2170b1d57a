// The threads that help with large tensors: made when they are wanted, kept, shared by all calls.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "dequant/executor.h"

namespace dequant {

/// The calling thread does its tasks itself, and idle threads of the pool help. So a call needs no
/// thread but its own: where the system gives no more threads, those that there are do the work.
/// (oneTBB's workers start each other, and end the process when one of them cannot start the next.)
/// Never destroyed: its threads sleep until the process ends.
class Pool {
 public:
  constexpr Pool() noexcept = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Runs each task once, by at most so many threads with the calling one.
  void run(std::size_t count, Executor::Task task, void* context, std::size_t threads) noexcept;

 private:
  struct Call;

  void begin(Call& call) noexcept;
  void end(Call& call) noexcept;
  void grow(std::size_t workers) noexcept;
  [[noreturn]] void help() noexcept;

  std::mutex lock_;          ///< guards what is no atomic, here and in calls
  Call* calls_ = nullptr;    ///< that are being run, the newest first
  std::size_t workers_ = 0;  ///< threads of the pool
  std::size_t helping_ = 0;  ///< of them that have begun
  std::chrono::steady_clock::time_point next_try_{};  ///< to make more of them
  std::atomic<uint32_t> begun_{0};                    ///< calls; idle threads wait for the next
  std::atomic<uint32_t> ended_{0};  ///< calls whose last helper left while the caller waited
};

/// Processors that the thread may use which asks first.
std::size_t processors() noexcept;

}  // namespace dequant
