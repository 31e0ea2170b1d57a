// The first error or exception of work that several threads share. All threads end at it.
#pragma once

#include <atomic>
#include <exception>
#include <utility>

#include "dequant/status.h"

namespace dequant::format {

class FirstFailure {
 public:
  /// True after a failure.
  bool happened() const noexcept { return happened_.load(std::memory_order_relaxed); }

  /// Calls work(), which returns a Status. Its error, or an exception, is kept if it is the first:
  /// a task of an Executor must not throw.
  template <class Work>
  void watch(const Work& work) noexcept {
    try {
      if (auto status = work(); !status) keep(std::move(status), nullptr);
    } catch (...) {  // out of memory
      keep({}, std::current_exception());
    }
  }

  /// The error, or success; throws the exception. Called once, after all threads have ended.
  Status take() {
    if (thrown_) std::rethrow_exception(thrown_);
    return std::move(status_);
  }

 private:
  void keep(Status status, std::exception_ptr thrown) {
    if (happened_.exchange(true)) return;
    status_ = std::move(status);
    thrown_ = std::move(thrown);
  }

  std::atomic<bool> happened_{false};
  Status status_;
  std::exception_ptr thrown_;
};

}  // namespace dequant::format
